import { expect, it } from 'vitest'
import { mediaKind } from './media-type.js'

it.each([
  ['text/plain; charset=utf-8', 'text'],
  ['application/json', 'text'],
  ['application/problem+JSON', 'text'],
  ['image/png', 'image'],
  ['Audio/MPEG', 'audio'],
  ['video/mp4', 'video'],
  ['application/pdf', 'document'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'document'],
  ['', 'document'],
])('reads %j as %s', (type, kind) => {
  expect(mediaKind(type)).toBe(kind)
})
