import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** Thrown for an invalid entry of `network.secrets`. The message never contains the value. */
export class HostSecretError extends CapstanError {
  constructor(host: unknown, why: string) {
    super('host_secret_malformed', `The entry of network.secrets for ${JSON.stringify(host)} ${why}.`)
  }
}
markErrorClass(HostSecretError, 'HostSecretError')
