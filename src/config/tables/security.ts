/**
 * Variables of tenancy and encryption at rest (cluster spec §9.4, §9.5). A malformed encryption key
 * refuses the boot here, where the reference warns and stores plaintext.
 */
import { boolean, structured } from '../builders.js';
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
};
