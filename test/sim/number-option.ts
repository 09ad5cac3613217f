/** Numbers among the arguments of `npm run sim`. A word in their place would run nothing, and pass. */
export function numberOption(args: readonly string[], name: string): number | undefined {
  const at = args.indexOf(name);
  if (at < 0) return undefined;
  const value = Number(args[at + 1]);
  if (!(value >= 0)) throw new Error(`${name} wants a number`);
  return value;
}
