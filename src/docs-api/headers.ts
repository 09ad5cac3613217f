/** Request headers the API document names. */
import { ApiHeader } from '@nestjs/swagger';

/** The header that says whose names a request speaks about. */
export const ApiTenant = (): ClassDecorator & MethodDecorator =>
  ApiHeader({
    name: 'x-queen-tenant',
    required: false,
    description:
      'Tenant of the request. Read only with `QUEEN_TENANCY_HEADER=true`; absent means the default tenant.',
    schema: { type: 'string', format: 'uuid', default: '00000000-0000-0000-0000-000000000001' },
  });
