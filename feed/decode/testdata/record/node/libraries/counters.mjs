// Counters of smaller libraries.
import rateLimiter from 'redis-rate-limiter';
import { answer, ioredis, version } from '../answers.mjs';
import { minute, whole } from '../recorder.mjs';

const small = {
  library: 'redis-rate-limiter', version: version('redis-rate-limiter'), client: ioredis, algorithm: 'fixed-window', in_redis: ['window'], denied: 'charged',
  call: (limiter) => new Promise((resolve, reject) => limiter({ id: 'alice' }, (error, raw) => (error ? reject(error) : resolve(answer({ allowed: !raw.over, limit: raw.limit, remaining: Math.max(0, raw.limit - raw.current), raw }))))),
  notes: ['SETEX ratelimittemp:<key> window 0, RENAMENX to ratelimit:<key>, INCR, TTL: from the second call on the temporary key stays, value 0 with a whole window'],
};
const smallOpen = (limit, seconds) => async (place) => rateLimiter.create({ redis: place.client(), key: (request) => request.id, limit, window: seconds });

export default [
  { ...small, scenario: 'basic', configured: { limit: 5, window_ms: 3000 }, open: smallOpen(5, 3), script: whole(5, 3000) },
  { ...small, scenario: 'minute', configured: { limit: 100, window_ms: 60000 }, open: smallOpen(100, 60), script: minute(100) },
];
