/** Variables of the log. The filter itself is read by the logging room; an invalid one means info. */
import { boolean, text } from '../builders.js';

export const loggingVariables = {
  logLevel: text({
    name: 'LOG_LEVEL',
    fallback: 'info',
    doc: 'Filter directives, for example info or info,rsm=debug. Invalid: info.',
  }),
  rustLog: text({
    name: 'RUST_LOG',
    fallback: null,
    doc: 'The same; wins over LOG_LEVEL.',
  }),
  json: boolean({
    name: 'QUEEN_LOG_JSON',
    fallback: false,
    doc: 'One flat JSON object per line instead of text.',
  }),
};
