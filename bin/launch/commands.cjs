/**
 * The commands of `queen`: the module of dist/ that runs each when it is imported, its help, and which
 * options it takes. Looked at before anything is loaded, so that a question, or a word nobody knows,
 * never starts, repairs or writes anything.
 */
'use strict';

const { parseArgs } = require('node:util');

const DIRECTORY = `QUEEN_RAFT_DIR names the data directory; unset it is /var/lib/queen/raft, also where
"npm start" has kept its data in ./data: set it then.`;

const text = { type: 'string' };
const flag = { type: 'boolean' };

const COMMANDS = {
  start: {
    module: 'main.js',
    usage: '',
    summary: 'run the broker (the default)',
    help: `Runs the broker on its data directory until SIGTERM or SIGINT. Takes no options.

${DIRECTORY}`,
  },
  backup: {
    module: 'backup.js',
    usage: '--to DIR [--url URL] [--token TOKEN]',
    summary: 'copy the state of a running node',
    options: { to: text, url: text, token: text },
    help: `Copies the state of a running node into DIR.

  --to DIR       absent, empty, or an earlier backup, which is replaced once the new one is
                 whole; anything else is refused
  --url URL      of the node; http://127.0.0.1:6632 when absent
  --token TOKEN  with tokens on; QUEEN_TOKEN when absent

Ends with 0 when the backup is whole, 1 when there is none.`,
  },
  repair: {
    module: 'repair.js',
    usage: '',
    summary: 'check the log of a stopped node, rebuild what is damaged from its peers',
    help: `Checks the log of a stopped node and rebuilds damaged segments from its peers, with the
environment of that node. Takes no options. Ends with 0 when every record is sound, else 1.

${DIRECTORY}`,
  },
  restore: {
    module: 'restore.js',
    usage: '--from DIR',
    summary: 'fill an empty QUEEN_RAFT_DIR from a backup',
    options: { from: text },
    help: `Makes a data directory from a backup, with the environment of the node that is to start
on it. The data directory must be empty. Ends with 0 when it is made, else 1.

  --from DIR     the backup

${DIRECTORY}`,
  },
  verify: {
    module: 'verify.js',
    usage: '[DIR] [--json] [--at INDEX] [--scratch DIR]',
    summary: 'check the data of a stopped node, or a backup; changes nothing',
    options: { json: flag, at: text, scratch: text },
    positionals: 1,
    help: `Checks the data directory of a stopped node, a copy of one, or a backup, and changes nothing
in it.

  DIR            the data directory of the environment when absent
  --json         one document instead of lines
  --at INDEX     tells the digest after this entry too, if the replay passes it
  --scratch DIR  where the scratch is made; the temp directory when absent

Ends with 0 when all is sound, 1 when something is damaged, 2 when nothing was verified.

${DIRECTORY}`,
  },
};

function usage() {
  const rows = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`,
  );
  return `Usage: queen [command]

Commands:
${rows.join('\n')}

Options:
  --version         print the version
  --help            print this text
  <command> --help  print what a command does and takes

In a clone this is "npx queen ..." or "node bin/queen.cjs ...".
${DIRECTORY}
Settings are environment variables: docs/configuration.md
`;
}

function usageOf(name) {
  return `usage: ${`queen ${name} ${COMMANDS[name].usage}`.trimEnd()}\n`;
}

function helpOf(name) {
  return `${usageOf(name)}\n${COMMANDS[name].help}\n`;
}

function asksForHelp(args) {
  return args.includes('--help') || args.includes('-h');
}

/** What is wrong with the arguments of a command, null when nothing is. */
function complaint(name, args) {
  const { options = {}, positionals = 0 } = COMMANDS[name];
  try {
    const given = parseArgs({ args, options, allowPositionals: true }).positionals;
    const extra = given[positionals];
    return extra === undefined ? null : `unexpected argument "${extra}"`;
  } catch (error) {
    return error.message;
  }
}

module.exports = { asksForHelp, COMMANDS, complaint, helpOf, usage, usageOf };
