import { StoreError } from '../errors.js'
import type { Database, Run, Statement } from './database.js'

/** A step of the schema. Version n is the state after the first n steps. */
export type SchemaStep = {
  /**
   * The oldest version of the code that works with the schema after this step: processes of that version continue to
   * run while the database is migrated. A step that only adds something states the previous version.
   */
  readonly oldestCode: number
  readonly sql: string
}

/**
 * Migrates a schema to the latest version, each step completely or not at all. Other processes can use it meanwhile. A
 * schema that is already there, at this or a later version, is not changed.
 *
 * @returns the version of the schema
 */
export async function migrateSchema(
  database: Database,
  schema: string,
  steps: readonly SchemaStep[] = schemaSteps,
): Promise<number> {
  for (;;) {
    const { version, isDone } = await database.transaction((run) => migrateStep(run, schema, steps))
    if (isDone) return version
  }
}

async function migrateStep(run: Run, schema: string, steps: readonly SchemaStep[]) {
  const name = quoted(schema)
  // A step that waits for a table lock blocks all later writers of the table, so it gives up and is tried again.
  await run({ text: "set local lock_timeout = '3s'" })
  await run({ text: 'select pg_advisory_xact_lock(hashtext($1))', values: [`capstan migrate ${schema}`] })
  const [found] = await run<{ there: boolean }>({
    text: 'select to_regclass($1) is not null as there',
    values: [`${name}.migrations`],
  })
  if (found?.there !== true) {
    const [existing] = await run({ text: 'select 1 from pg_namespace where nspname = $1', values: [schema] })
    // A role without the permission to create schemas can use an existing one.
    if (existing === undefined) await run({ text: `create schema ${name}` })
    await run({ text: `create table ${name}.migrations (${migrationColumns})` })
  }
  const [row] = await run<{ version: number }>({
    text: `select coalesce(max(version), 0) as version from ${name}.migrations`,
  })
  const version = row?.version ?? 0
  const step = steps[version]
  if (step === undefined) return { version, isDone: true }
  await run({ text: `set local search_path = ${name}` })
  await run({ text: step.sql })
  await run({
    text: 'insert into migrations (version, oldest_code) values ($1, $2)',
    values: [version + 1, step.oldestCode],
  })
  return { version: version + 1, isDone: version + 1 === steps.length }
}

const migrationColumns = `
  version integer primary key,
  oldest_code integer not null,
  applied_at timestamptz not null default clock_timestamp()`

/** Throws unless this version of the code can work with the schema. */
export async function checkSchema(database: Database, schema: string): Promise<void> {
  const [row] = await database.query<{ version: number; oldest_code: number }>(versionQuery(schema))
  const { version = 0, oldest_code: oldestCode = 0 } = row ?? {}
  if (oldestCode > schemaSteps.length)
    throw new StoreError(
      'store_future_schema',
      `The schema '${schema}' of the database ${database.place} has version ${version}, which needs a later version of Capstan: this one supports versions up to ${schemaSteps.length}. Upgrade this process.`,
    )
  if (version < schemaSteps.length)
    throw new StoreError(
      'store_failed',
      `The schema '${schema}' of the database ${database.place} has version ${version}, and this version of Capstan needs ${schemaSteps.length}. Run 'capstan migrate', or call migrate().`,
    )
}

function versionQuery(schema: string): Statement {
  return {
    text: `select coalesce(max(version), 0) as version, coalesce(max(oldest_code), 0) as oldest_code
      from ${quoted(schema)}.migrations`,
  }
}

/**
 * Returns the quoted name of a schema for use in statements. Names are restricted, so that no tool needs other quoting.
 */
export function quoted(schema: string): string {
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(schema))
    throw new TypeError(
      `The schema ${JSON.stringify(schema)} must be 1 to 40 lower-case letters, digits and underscores, not beginning with a digit.`,
    )
  return `"${schema}"`
}

/**
 * `records` is the log exactly as it was appended: `seq` numbers the records of a session without gaps, `more` is the
 * number of records of the same batch that follow, `crc` covers the record and its position. `data` is text, because
 * jsonb rejects the character 0 and changes numbers.
 *
 * `heads` has the end of each log and its holder in one row, so that one update checks the fence and the position, and
 * moves the end. There are no foreign keys: each write checks the row in `heads`, which a deletion locks first.
 *
 * A node is a process that holds leases: it has a row, an advisory lock with the id of the row on a connection of its
 * own, and writes `seen_at` every second. The row is shared by all its leases.
 */
const firstSchema = `
create table nodes (
  id integer generated always as identity primary key,
  name text not null,
  host text not null,
  pid integer not null,
  process text not null,
  details text not null default '{}',
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create table sessions (
  sid bigint generated always as identity primary key,
  id text collate "C" not null unique,
  info text not null default '{}',
  schema_version integer not null default 0,
  tenant text collate "C",
  parent text collate "C",
  workspace text collate "C",
  opened_at bigint not null
);
create index sessions_by_tenant on sessions (tenant) where tenant is not null;
create index sessions_by_parent on sessions (parent) where parent is not null;

create sequence fences;

create table heads (
  sid bigint primary key,
  last_seq bigint not null default 0,
  last_at bigint,
  fence bigint not null default 0,
  holder text,
  host text,
  pid integer,
  acquired_at bigint,
  node integer,
  -- The attempt that took the lease: an attempt whose answer was lost recognizes it.
  attempt uuid
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
create index heads_by_node on heads (node) where node is not null;

create table records (
  sid bigint not null,
  seq bigint not null,
  more integer not null,
  crc integer not null,
  type text not null,
  data text not null,
  primary key (sid, seq)
);

create table blobs (
  sid bigint not null,
  digest text not null,
  bytes bytea not null,
  primary key (sid, digest)
);
alter table blobs alter column bytes set storage external;

create view chat_sessions as
  select s.id, s.info, s.tenant, s.parent, s.workspace, h.last_seq, h.last_at, h.holder, h.host, h.pid
  from sessions s join heads h using (sid);
create view chat_messages as
  select s.id as session_id, r.seq, r.data from records r join sessions s using (sid) where r.type = 'message';
create view chat_parts as
  select s.id as session_id, r.seq, r.data from records r join sessions s using (sid) where r.type = 'part';
create view runs as
  select s.id as session_id, r.seq, r.data from records r join sessions s using (sid) where r.type = 'run';
create view run_events as
  select s.id as session_id, r.seq, r.data from records r join sessions s using (sid) where r.type = 'run_event';
create view checkpoints as
  select s.id as session_id, r.seq, r.data from records r join sessions s using (sid) where r.type = 'checkpoint';
`

/**
 * The queue of runs. The row of a run is the authoritative source of its state; `job` is its job in the queue of
 * pg-boss while it can be claimed. The rest of a submission is JSON in `submission`. The table of live events is not
 * written durably, because the logs of the sessions contain everything.
 */
const runQueue = `
alter table nodes add column draining boolean not null default false;

create table queue_runs (
  ord bigint generated always as identity primary key,
  run_id text collate "C" not null unique,
  session_id text collate "C" not null,
  tenant text collate "C",
  tier text collate "C",
  lane text collate "C" not null,
  priority integer not null,
  not_before bigint not null default 0,
  submission text not null,
  digest text not null,
  state text not null default 'queued',
  front boolean not null default false,
  job uuid,
  submitted_at bigint not null,
  updated_at bigint not null,
  attempt integer not null default 0,
  takeovers integer not null default 0,
  position bigint not null default 0,
  node integer,
  cancel_requested boolean not null default false,
  error text
) with (fillfactor = 70);
create index queue_runs_open on queue_runs (session_id, ord) where state in ('queued', 'active', 'waiting');
create index queue_runs_parked on queue_runs (ord) where state = 'queued' and job is null;
create index queue_runs_active on queue_runs (tenant) where state = 'active';
create index queue_runs_of_tenant on queue_runs (tenant, ord);
create index queue_runs_of_session on queue_runs (session_id, ord);

create table queue_messages (
  n bigint generated always as identity primary key,
  run_id text collate "C" not null,
  id text collate "C" not null,
  body text not null,
  unique (run_id, id)
);

create unlogged table queue_events (
  run_id text collate "C" not null,
  sequence float8 not null,
  at_ms float8 not null,
  event text not null,
  primary key (run_id, sequence)
);

create table counters (
  name text collate "C" primary key,
  tokens float8 not null default 0,
  cost_usd float8 not null default 0
);
`

/** The cost of the queries that nodes repeat all the time must not depend on how many runs are queued. */
const waitingRuns = `
create index queue_runs_waiting on queue_runs (not_before) where state = 'waiting';
`

/** Finds the runs that have ended, the oldest first. */
const endedRuns = `
create index queue_runs_ended on queue_runs (updated_at) where state in ('completed', 'failed', 'cancelled', 'dead');
`

/**
 * Messages from other processes for the process that holds a session. The row of a taken message stays until it
 * expires, so that the same message is not accepted again.
 */
const mailbox = `
create table mail (
  n bigint generated always as identity primary key,
  session_id text collate "C" not null,
  id text collate "C" not null,
  body text not null,
  expires_at bigint not null,
  is_taken boolean not null default false,
  unique (session_id, id)
);
create index mail_waiting on mail (session_id, n) where not is_taken;
create index mail_by_time on mail (expires_at);
`

/** A failed run continues when it is queued again; a run whose node ended after the failure does not. */
const redrives = `
alter table queue_runs add column redrives integer not null default 0;
`

/** The steps from an empty schema to the current one. */
export const schemaSteps: readonly SchemaStep[] = [
  { oldestCode: 1, sql: firstSchema },
  { oldestCode: 1, sql: runQueue },
  { oldestCode: 1, sql: waitingRuns },
  { oldestCode: 1, sql: endedRuns },
  { oldestCode: 1, sql: mailbox },
  { oldestCode: 1, sql: redrives },
]
