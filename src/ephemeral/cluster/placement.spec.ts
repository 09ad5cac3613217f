/** Highest random weight: everybody computes the same, and a change moves only what it must. */
import type { NodeId } from '../../common/ids.js';
import { Placement } from './placement.js';

const tenant = new Uint8Array(16).fill(1);
const place = (n: number) => ({ tenant, queue: 'q', partition: `p${n}` });
const ids = (...numbers: number[]): NodeId[] => numbers as NodeId[];
const COUNT = 600;

function owners(...members: number[]): (NodeId | null)[] {
  const placement = new Placement();
  placement.setMembers(ids(...members));
  return Array.from({ length: COUNT }, (_, n) => placement.ownerOf(place(n)));
}

it('spreads over the members, whatever their order', () => {
  const all = owners(3, 1, 2);
  expect(owners(1, 2, 3)).toEqual(all);
  for (const id of [1, 2, 3]) {
    const share = all.filter((owner) => owner === id).length;
    expect(share).toBeGreaterThan(COUNT / 3 - 60);
    expect(share).toBeLessThan(COUNT / 3 + 60);
  }
});

it('a member that goes moves its own partitions only, and gets the same ones back', () => {
  const all = owners(1, 2, 3);
  const without = owners(1, 3);
  all.forEach((owner, n) => {
    if (owner !== 2) expect(without[n]).toBe(owner);
    else expect([1, 3]).toContain(without[n]);
  });
});

it('says what changed; without members nobody owns', () => {
  const placement = new Placement();
  expect(placement.ownerOf(place(0))).toBeNull();
  expect([placement.setMembers(ids(2, 1)), placement.setMembers(ids(1, 2))]).toEqual([true, false]);
  expect([placement.version, placement.ids]).toEqual([1, [1, 2]]);
  const before = placement.ownerOf(place(0));
  placement.setMembers(ids(before === 1 ? 2 : 1));
  expect(placement.ownerOf(place(0))).not.toBe(before);
});

it('tenant, queue and partition all count', () => {
  const placement = new Placement();
  placement.setMembers(ids(1, 2, 3, 4, 5));
  const other = new Uint8Array(16).fill(2);
  const differs = (change: (n: number) => ReturnType<typeof place>): boolean =>
    Array.from({ length: 40 }, (_, n) => n).some(
      (n) => placement.ownerOf(change(n)) !== placement.ownerOf(place(n)),
    );
  expect(differs((n) => ({ ...place(n), tenant: other }))).toBe(true);
  expect(differs((n) => ({ ...place(n), queue: 'r' }))).toBe(true);
});
