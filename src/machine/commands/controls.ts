/**
 * What operators set for the whole cluster or for a tenant: switches, quotas, and the purge of a
 * tenant (state.md §0.4, §0.5; admin.md §1.2). The tenant of a quota and of a purge is the command's.
 *
 *   SetSwitches: u8 named | u8 on                         one bit per switch
 *   SetQuota:    u8 kind | u8 enabled | QUOTA_LIMITS x { varint 0 | varint limit+1 }
 *   PurgeTenant: nothing
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { CommandKind } from './catalogue.js';
import { beginCommand, finishCommand } from './header.js';
import { NO_TENANT } from './session.js';

/** In the order of their bits; never reorder. */
export const SWITCH_NAMES = ['kv', 'timersSchedule', 'timersFire', 'ephemeral'] as const;
export type SwitchName = (typeof SWITCH_NAMES)[number];

/** The named switches go on or off, the others stay. */
export type SetSwitchesCommand = Partial<Readonly<Record<SwitchName, boolean>>>;

/** Never renumber. */
export enum QuotaKind {
  Kv = 1,
  Ephemeral = 2,
  Streams = 3,
}

/** In the order they are written; never reorder. */
export const QUOTA_LIMITS = [
  'maxRows',
  'maxBytes',
  'maxTimers',
  'maxTimerHorizonSeconds',
  'maxReadsPerSecond',
  'maxWritesPerSecond',
  'maxQueues',
  'maxMessagesPerSecond',
  'maxQueries',
] as const;
export type QuotaLimit = (typeof QUOTA_LIMITS)[number];

/** Null = unlimited. */
export type QuotaLimits = Readonly<Record<QuotaLimit, number | null>>;

export interface QuotaGrant {
  readonly enabled: boolean;
  readonly limits: QuotaLimits;
}

export interface SetQuotaCommand extends QuotaGrant {
  readonly kind: QuotaKind;
}

export interface SetSwitchesOutcome {
  readonly kind: CommandKind.SetSwitches;
  readonly changed: readonly SwitchName[];
}

export interface SetQuotaOutcome {
  readonly kind: CommandKind.SetQuota;
}

export interface PurgeTenantOutcome {
  readonly kind: CommandKind.PurgeTenant;
  readonly partitions: number;
}

const ALL_SWITCHES = (1 << SWITCH_NAMES.length) - 1;

export function encodeSetSwitches(command: SetSwitchesCommand): Uint8Array {
  const writer = beginCommand(CommandKind.SetSwitches, NO_TENANT);
  let named = 0;
  let on = 0;
  SWITCH_NAMES.forEach((name, bit) => {
    if (command[name] === undefined) return;
    named |= 1 << bit;
    if (command[name]) on |= 1 << bit;
  });
  writer.u8(named);
  writer.u8(on);
  return finishCommand(writer);
}

export function decodeSetSwitches(reader: BinaryReader): SetSwitchesCommand {
  const at = reader.position;
  const named = reader.u8();
  const on = reader.u8();
  if (named > ALL_SWITCHES || (on & ~named) !== 0) throw new DecodeError('unknown switch', at);
  reader.expectEnd();
  const command: Partial<Record<SwitchName, boolean>> = {};
  SWITCH_NAMES.forEach((name, bit) => {
    if ((named & (1 << bit)) !== 0) command[name] = (on & (1 << bit)) !== 0;
  });
  return command;
}

export function encodeSetQuota(tenant: Uint8Array, command: SetQuotaCommand): Uint8Array {
  const writer = beginCommand(CommandKind.SetQuota, tenant);
  writer.u8(command.kind);
  writeGrant(writer, command);
  return finishCommand(writer);
}

export function decodeSetQuota(reader: BinaryReader): SetQuotaCommand {
  const kind = readQuotaKind(reader.u8());
  const grant = readGrant(reader);
  reader.expectEnd();
  return { kind, ...grant };
}

export function readQuotaKind(kind: number): QuotaKind {
  if (QuotaKind[kind] === undefined) throw new DecodeError('unknown quota kind', 0);
  return kind;
}

/** Also the form of the stored row. */
export function writeGrant(writer: BinaryWriter, { enabled, limits }: QuotaGrant): void {
  writer.boolean(enabled);
  for (const name of QUOTA_LIMITS) {
    const limit = limits[name];
    writer.varint(limit === null ? 0 : limit + 1);
  }
}

export function readGrant(reader: BinaryReader): QuotaGrant {
  const enabled = reader.boolean();
  const limits = {} as Record<QuotaLimit, number | null>;
  for (const name of QUOTA_LIMITS) {
    const stored = reader.varint();
    limits[name] = stored === 0 ? null : stored - 1;
  }
  return { enabled, limits };
}

export function encodePurgeTenant(tenant: Uint8Array): Uint8Array {
  return finishCommand(beginCommand(CommandKind.PurgeTenant, tenant));
}

export function decodePurgeTenant(reader: BinaryReader): null {
  reader.expectEnd();
  return null;
}
