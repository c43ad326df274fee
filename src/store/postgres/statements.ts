/** Inserts rows of `records` from six arrays, the first of which is the parameter with this number. */
export function insertRows(schema: string, first: number): string {
  const [sids, seqs, mores, crcs, types, texts] = Array.from({ length: 6 }, (_, index) => `$${first + index}`)
  return `insert into ${schema}.records (sid, seq, more, crc, type, data)
  select r.* from unnest(${sids}::bigint[], ${seqs}::bigint[], ${mores}::integer[], ${crcs}::integer[],
    ${types}::text[], string_to_array(${texts}::text, E'\\n')) as r (sid, seq, more, crc, type, data)`
}
