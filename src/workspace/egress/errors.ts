import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** An entry of `network.secrets` that cannot be used. Its message never holds the value. */
export class HostSecretError extends CapstanError {
  constructor(host: unknown, why: string) {
    super('host_secret_malformed', `The entry of network.secrets for ${JSON.stringify(host)} ${why}.`)
  }
}
markErrorClass(HostSecretError, 'HostSecretError')
