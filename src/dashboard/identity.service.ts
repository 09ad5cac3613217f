/** From the credential of a request to who looks at the dashboard; null when it has to be asked for. */
import { Inject, Injectable } from '@nestjs/common';
import { roleTexts } from '../auth/access.js';
import { AUTHENTICATOR } from '../auth/auth.module.js';
import type { Authenticator } from '../auth/authenticator.js';
import { credentialOf } from '../auth/credential.js';
import { Unauthenticated } from '../auth/refusal.js';
import { QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { holderOf, meOf, type MeDto } from './identity.dto.js';

@Injectable()
export class IdentityService {
  constructor(
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(AUTHENTICATOR) private readonly authenticator: Authenticator | null,
  ) {}

  async of(authorization: string | undefined): Promise<MeDto | null> {
    const { serverId } = this.config.server;
    if (this.authenticator === null) return meOf(serverId);
    const token = credentialOf(authorization);
    if (token === null) return null;
    try {
      const known = this.authenticator.known(token) ?? (await this.authenticator.verify(token));
      const { roles, subject } = known;
      return holderOf(serverId, {
        subject: subject === null ? null : Buffer.from(subject).toString(),
        roles: roleTexts(roles),
      });
    } catch (error) {
      if (error instanceof Unauthenticated) return null;
      throw error;
    }
  }
}
