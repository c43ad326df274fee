import { Agent } from './agent.js'

/** Sessions and agents can be closed by `await using`. */
export async function closeAtTheEnd(): Promise<boolean> {
  await using agent = await Agent.create({ defaultModel: 'offline' })
  await using session = agent.session('.')
  return session.isClosed || agent.isClosed
}
