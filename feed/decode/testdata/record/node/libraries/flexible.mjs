// rate-limiter-flexible: its Redis limiters and what it builds from them.
import { RateLimiterRedis, RateLimiterMemory, RateLimiterRes, RateLimiterQueue, RateLimiterUnion, BurstyRateLimiter } from 'rate-limiter-flexible';
import NonAtomic from 'rate-limiter-flexible/lib/RateLimiterRedisNonAtomic.js';
import { answer, ioredis, version } from '../answers.mjs';
import { look, minute, pause, peek, take, until, whole } from '../recorder.mjs';

const said = (allowed, points) => (res) => {
  if (!(res instanceof RateLimiterRes)) throw res;
  return answer({
    allowed, limit: points ?? null, remaining: res.remainingPoints, retry_after_ms: allowed === null ? null : allowed ? 0 : res.msBeforeNext, reset_after_ms: res.msBeforeNext,
    raw: { remainingPoints: res.remainingPoints, msBeforeNext: res.msBeforeNext, consumedPoints: res.consumedPoints, isFirstInDuration: res.isFirstInDuration },
  });
};
const consume = async (limiter, cost) => limiter.consume('alice', cost).then(said(true, limiter.points), said(false, limiter.points));
const plain = (raw) => answer({ raw: raw ?? null });
const open = (options, Kind = RateLimiterRedis) => async (place) => new Kind({ storeClient: place.client(), ...options });

const base = {
  library: 'rate-limiter-flexible', version: version('rate-limiter-flexible'), client: ioredis,
  algorithm: 'fixed-window', in_redis: ['window'], denied: 'charged', call: consume, name: (cost) => `consume('alice', ${cost})`,
};
const story = (scenario, points, duration, options, script, notes = [], more = {}) => ({
  ...base, scenario, configured: { limit: points, window_ms: duration * 1000 }, open: open({ points, duration, ...options }), script, notes, ...more,
});

const merged = (res) => answer({ allowed: true, raw: res });
const union = {
  ...base, scenario: 'union', configured: { limit: 3, window_ms: 2000 }, notes: ['two limiters: union-short 3 in 2 s, union-long 5 in 6 s; all are charged on every call, also when another of them denies'],
  open: async (place) => {
    const storeClient = place.client();
    return new RateLimiterUnion(
      new RateLimiterRedis({ storeClient, keyPrefix: 'union-short', points: 3, duration: 2 }),
      new RateLimiterRedis({ storeClient, keyPrefix: 'union-long', points: 5, duration: 6 }),
    );
  },
  call: async (limiter, cost) => limiter.consume('alice', cost).then(merged, (res) => ({ ...merged(res), allowed: false })),
  script: [take(3), peek, take(2), peek, until(2150), take(2), peek],
};
const bursty = {
  ...base, scenario: 'bursty', configured: { limit: 2, window_ms: 1000, burst: 3 },
  notes: ['two limiters: the rate (prefix rlflx) 2 in 1 s, the burst (prefix burst) 3 in 5 s; the second is charged only when the first denies; admitted if either admits', 'the answer merges them: consumed of the first, the smaller of the two waits'],
  open: async (place) => {
    const storeClient = place.client();
    return new BurstyRateLimiter(
      new RateLimiterRedis({ storeClient, points: 2, duration: 1 }),
      new RateLimiterRedis({ storeClient, keyPrefix: 'burst', points: 3, duration: 5 }),
    );
  },
  script: [take(2), peek, take(3), peek, take(2), peek, until(1100), take(3), peek],
};
const queue = {
  ...base, scenario: 'queue', configured: { limit: 2, window_ms: 2000 }, name: () => 'removeTokens(1)',
  notes: ['the queue waits in the process; in Redis it is one limiter with the key prefix:limiter'],
  open: async (place) => new RateLimiterQueue(new RateLimiterRedis({ storeClient: place.client(), points: 2, duration: 2 }), { maxQueueSize: 1 }),
  call: async (limiter) => limiter.removeTokens(1).then((left) => answer({ allowed: true, remaining: left, raw: left })),
  script: [take(2), take(1)],
};
const insurance = {
  ...base, scenario: 'insurance', configured: { limit: 5, window_ms: 3000 },
  notes: ['the main limiter lost its connection before the third call: the insurance limiter (prefix insurance, 2 in 3 s) counts from then on, the main key stays as it was'],
  open: async (place) => {
    const main = place.client({ enableOfflineQueue: false, maxRetriesPerRequest: 0 });
    await new Promise((resolve) => main.once('ready', resolve));
    const limiter = new RateLimiterRedis({
      storeClient: main, points: 5, duration: 3,
      insuranceLimiter: new RateLimiterRedis({ storeClient: place.client(), keyPrefix: 'insurance', points: 2, duration: 3, insuranceLimiter: new RateLimiterMemory({ points: 1, duration: 3 }) }),
    });
    limiter.main = main;
    return limiter;
  },
  script: [take(2), look('the main connection is cut', (limiter) => {
    limiter.main.disconnect();
    return plain(null);
  }), take(3)],
};

export default [
  story('basic', 5, 4, {}, whole(5, 4000), ['msBeforeNext is the PTTL, also while calls are allowed', 'SET key 0 EX NX, INCRBY: the TTL is whole seconds, set once']),
  story('minute', 100, 60, {}, minute(100)),
  story('cost', 10, 3, {}, [take(1, 4), peek, take(1, 4), take(1, 4), peek, take(1, 2), peek, until(3150), take(1, 10), take(1, 1), peek, look("get('alice')", (limiter) => limiter.get('alice').then(said(null, 10)))], ['a denied cost is charged in full: 4+4+4 of 10 leaves 12 consumed']),
  story('prefix', 3, 2, { keyPrefix: 'login_fail_ip_per_day' }, whole(3, 2000)),
  story('no-prefix', 3, 2, { keyPrefix: '' }, whole(3, 2000), ['the key is the identifier alone']),
  story('no-expiry', 3, 0, {}, [take(4), pause(200), take(1)], ['duration 0: no TTL, never rolls over, msBeforeNext is -1'], { in_redis: [] }),
  story('block-duration', 3, 2, { blockDuration: 5 }, [take(3), peek, take(1), peek, take(2), peek, until(2600), take(1), peek, until(5300), take(3), take(1), peek],
    ['the call that crosses points writes SET consumed EX blockDuration; later denied calls count up but do not prolong', 'TTL above the window tells a block; when the block is shorter than the window nothing in Redis tells it']),
  story('block-on-consumed', 3, 2, { blockDuration: 4, blockOnConsumed: 5 }, [take(3), take(1), peek, take(1), peek, take(2), until(4300), take(1)], ['blocks only when consumed reaches blockOnConsumed']),
  story('block-call', 3, 2, {}, [take(1), look("block('alice', 4)", (limiter) => limiter.block('alice', 4).then(plain)), peek, take(1), peek, until(4200), take(1)], ['block() stores points + 1 with its own TTL']),
  story('set-penalty-reward', 5, 3, {}, [take(1), look("penalty('alice', 3)", (limiter) => limiter.penalty('alice', 3).then(said(null, 5))), take(1), take(1), peek, look("reward('alice', 4)", (limiter) => limiter.reward('alice', 4).then(said(null, 5))), take(2),
    look("set('alice', 4, 6)", (limiter) => limiter.set('alice', 4, 6).then(plain)), take(2), peek, look("reward('bob', 2)", (limiter) => limiter.reward('bob', 2).then(said(null, 5))), look("delete('alice')", (limiter) => limiter.delete('alice').then(plain)), take(1)],
    ['reward() on a new key leaves a negative count: credit']),
  story('exec-evenly', 4, 2, { execEvenly: true }, [take(4), take(1), until(2200), take(1)], ['calls after the first of a window resolve late, by TTL / (remaining + 2); Redis is charged before the wait']),
  story('in-memory-block', 3, 3, { inMemoryBlockOnConsumed: 4 }, [take(3), take(4), until(3200), take(2)], ['from 4 consumed on the process denies by itself and Redis is not asked: the count stays at 4', 'such a denial answers consumedPoints 0']),
  story('custom-duration', 3, 2, {}, [take(3), take(1), peek, until(5200), take(1)], ['every call passes customDuration 5: the TTL is 5 s'],
    { call: async (limiter, cost) => limiter.consume('alice', cost, { customDuration: 5 }).then(said(true, 3), said(false, 3)), configured: { limit: 3, window_ms: 5000 } }),
  { ...story('non-atomic', 4, 3, {}, whole(4, 3000), ['RateLimiterRedisNonAtomic: GET and PTTL, then SET and PEXPIRE; the TTL is carried on in ms']), open: open({ points: 4, duration: 3 }, NonAtomic) },
  union, bursty, queue, insurance,
];
