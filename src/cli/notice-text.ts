import type { Notice, NoticeCode } from '../loop/events.js'

/** Returns the message of a notice, followed by what a user of the command can do next. */
export function noticeText({ message, code }: Notice): string {
  const advice = code === undefined ? undefined : adviceFor[code]
  return advice === undefined ? message : `${message} ${advice}`
}

const confirm = 'Read it, then confirm it with "capstan rules confirm".'
const adviceFor: Readonly<Record<NoticeCode, string>> = {
  rules_unconfirmed: confirm,
  mcp_file_unconfirmed: confirm,
}
