/**
 * Variables of tenancy, encryption at rest and TLS on the HTTP port (cluster spec §9.4, §9.5, §11.7). A malformed encryption key
 * refuses the boot here, where the reference warns and stores plaintext.
 */
import { boolean, structured, text } from '../builders.js';
import { accepted, fatal } from '../variable.js';

export const securityVariables = {
  tenancyHeader: boolean({
    name: 'QUEEN_TENANCY_HEADER',
    fallback: false,
    doc: 'The tenant comes from the x-queen-tenant header. Needs QUEEN_KV_TRUSTED_PROXY=true.',
  }),
  trustedProxy: boolean({
    name: 'QUEEN_KV_TRUSTED_PROXY',
    fallback: false,
    doc: 'Something in front sets and strips x-queen-tenant.',
  }),
  encryptionKey: structured<string | null>({
    name: 'QUEEN_ENCRYPTION_KEY',
    fallback: null,
    fallbackText: 'unset',
    secret: true,
    parse: (raw) =>
      /^[0-9a-fA-F]{64}$/.test(raw.trim())
        ? accepted(raw.trim().toLowerCase())
        : fatal('must be 64 hex characters (AES-256-GCM key)'),
    doc: 'AES-256-GCM key for queues with encryptionEnabled: 64 hex characters, the same on every node. A malformed key stops the boot.',
  }),
  tlsCert: text({
    name: 'QUEEN_TLS_CERT',
    fallback: null,
    doc: 'PEM file of the certificate chain for HTTPS on PORT; needs QUEEN_TLS_KEY. Read again when it changes.',
  }),
  tlsKey: text({
    name: 'QUEEN_TLS_KEY',
    fallback: null,
    doc: 'PEM file of its private key.',
  }),
};
