// An OAuth server for tests: node provider.mjs PROVIDER_FOLDER < JSON; says `ready` when it is.
// Everybody logs in under the name they give; tokens are JWTs for one resource, by its indicator.
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { generateKeyPairSync, randomUUID } from 'node:crypto';

const { default: Provider } = await import(
  pathToFileURL(join(process.argv[2], 'lib', 'index.js')).href
);
const told = JSON.parse(await text(process.stdin));
const issuer = `http://127.0.0.1:${told.port}`;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' };

const provider = new Provider(issuer, {
  clients: told.clients,
  jwks: { keys: [key] },
  cookies: { keys: [randomUUID()] },
  scopes: ['openid', 'offline_access', ...told.scopes],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: {
    AccessToken: told.lasts, Grant: 3600, Interaction: 600, Session: 3600, RefreshToken: 3600,
    IdToken: 600,
  },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  extraTokenClaims: (_ctx, token) => ({ email: `${token.accountId}@people.example`, email_verified: true }),
  clientBasedCORS: () => false,
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope: told.scopes.join(' '),
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: told.lasts,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});

// What somebody was given can be taken back, as by an administrator there.
const given = new Map();
provider.on('refresh_token.saved', (token) => {
  given.set(token.accountId, [...(given.get(token.accountId) ?? []), token]);
});
provider.use(async (ctx, next) => {
  if (ctx.path !== '/taken-back') return next();
  await Promise.all((given.get(ctx.query.who) ?? []).map((token) => token.destroy()));
  ctx.status = 204;
  return undefined;
});

provider.listen(told.port, '127.0.0.1', () => process.stdout.write('ready\n'));
