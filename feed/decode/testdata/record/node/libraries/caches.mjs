// Libraries that keep windows, logs and buckets by the clock of the client: oss-ratelimit, tokenbucket, and hapi-rate-limit on the cache of hapi.
import Hapi from '@hapi/hapi';
import { Engine } from '@hapi/catbox-redis';
import HapiRateLimit from 'hapi-rate-limit';
import * as oss from 'oss-ratelimit';
import { createClient } from 'redis';
import TokenBucket from 'tokenbucket';
import { answer, fromHTTP, ioredis, version } from '../answers.mjs';
import { peek, phase, take, until, whole } from '../recorder.mjs';

const openOSS = (kind) => async (place) => {
  const redis = createClient({ socket: { host: '127.0.0.1', port: place.port }, database: place.database });
  await redis.connect();
  place.onClose(() => redis.disconnect());
  return new oss.Ratelimit({ redis, limiter: kind, prefix: 'open-ratelimit', analytics: false, ephemeralCache: false });
};
const base = {
  library: 'oss-ratelimit', version: version('oss-ratelimit'), client: `redis ${version('redis')}`,
  call: async (limiter) => {
    const raw = await limiter.limit('alice');
    return answer({ allowed: raw.success, limit: raw.limit, remaining: raw.remaining, raw });
  },
};

const users = { limit: 'x-ratelimit-userlimit', remaining: 'x-ratelimit-userremaining', reset: null };
const hapi = {
  library: 'hapi-rate-limit', version: version('hapi-rate-limit'), client: `@hapi/catbox-redis ${version('@hapi/catbox-redis')}`, algorithm: 'fixed-window', denied: 'charged', in_redis: [],
  keep: (key) => String(key).includes('hapi-rate-limit-user:'),
  open: async (place) => {
    const server = Hapi.server({ port: 0, host: '127.0.0.1', cache: [{ name: 'limits', provider: { constructor: Engine, options: { host: '127.0.0.1', port: place.port, db: place.database } } }] });
    await server.register({ plugin: HapiRateLimit, options: { userLimit: 5, pathLimit: false, authLimit: false, userCache: { cache: 'limits', segment: 'hapi-rate-limit-user', expiresIn: 12000 }, pathCache: { cache: 'limits', segment: 'hapi-rate-limit-path' }, userPathCache: { cache: 'limits', segment: 'hapi-rate-limit-userPath' }, authCache: { cache: 'limits', segment: 'hapi-rate-limit-auth' } } });
    server.route({ method: 'GET', path: '/', handler: () => 'ok' });
    await server.start();
    place.onClose(() => server.stop({ timeout: 0 }));
    return server.info.uri;
  },
  call: async (address) => fromHTTP(await fetch(address, { headers: { connection: 'close' } }), users),
};

const bucket = {
  library: 'tokenbucket', version: version('tokenbucket'), client: 'redis 0.12', algorithm: 'token-bucket', denied: 'free', in_redis: [], scenario: 'basic',
  configured: { limit: 5, window_ms: 5000, burst: 5 },
  open: async (place) => {
    const redis = place.client();
    const client = { mset: (...args) => redis.mset(args.slice(0, -1)).then(() => args.at(-1)(null, 'OK')), mget: (...args) => redis.mget(args.slice(0, -1)).then((got) => args.at(-1)(null, got)) };
    return () => new TokenBucket({ size: 5, tokensToAddPerInterval: 5, interval: 5000, spread: true, redis: { bucketName: 'alice', redisClient: client } });
  },
  call: async (make) => {
    const limiter = make();
    await limiter.loadSaved();
    const allowed = limiter.removeTokensSync(1);
    await limiter.save();
    return answer({ allowed, limit: 5, remaining: Math.floor(limiter.tokensLeft), raw: { allowed, tokensLeft: limiter.tokensLeft } });
  },
  script: whole(5, 5000), notes: ['tokenbucket:<name>:tokensLeft and :lastFill, without an expiry; with spread tokens drip, else they come when an interval is over: the keys do not say which'],
};

export default [
  { ...base, scenario: 'fixed-window', algorithm: 'fixed-window', configured: { limit: 5, window_ms: 12000 }, in_redis: ['window'], denied: 'charged', open: openOSS(oss.fixedWindow(5, '12 s')), script: [phase(12000, 300), ...whole(5, 12000)], notes: ['<prefix>:<id>:<index>, PEXPIRE with the first request: the key outlives its window'] },
  { ...base, scenario: 'sliding-window', algorithm: 'sliding-log', configured: { limit: 5, window_ms: 12000 }, in_redis: [], denied: 'free', open: openOSS(oss.slidingWindow(5, '12 s')), script: whole(5, 12000), notes: ['every request, also a denied one, sets the expiry to two windows'] },
  { ...base, scenario: 'token-bucket', algorithm: 'token-bucket', configured: { limit: 2, window_ms: 10000, burst: 5 }, in_redis: [], denied: 'free', open: openOSS(oss.tokenBucket(2, '10 s', 5)), script: [take(1), peek, take(3), peek, take(3), peek, until(14000), take(3), peek], notes: ['whole tokens come with floor(elapsed * rate), and the time of the last is that of the request that found them'] },
  { ...hapi, scenario: 'basic', configured: { limit: 5, window_ms: 12000 }, script: whole(5, 12000), notes: ['JSON of item, stored and ttl, written anew with what is left of the window as its expiry'] },
  bucket,
];
