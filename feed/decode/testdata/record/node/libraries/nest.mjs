// Redis storages of @nestjs/throttler, behind a Nest application.
import 'reflect-metadata';
import common from '@nestjs/common';
import core from '@nestjs/core';
import throttler from '@nestjs/throttler';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import older from 'nestjs-throttler-storage-redis';
import { RedisThrottlerStorage } from '@nestjs-redis/throttler-storage';
import { createClient } from 'redis';
import { answer, fromHTTP, ioredis, version } from '../answers.mjs';
import { minute, peek, take, until, whole } from '../recorder.mjs';

const names = { limit: 'x-ratelimit-limit', remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset' };

// openApplication serves one controller behind the throttler's guard.
const openApplication = (throttlers) => async (place) => {
  class CatsController {
    find() { return 'ok'; }
  }
  common.Controller()(CatsController);
  common.Get()(CatsController.prototype, 'find', Object.getOwnPropertyDescriptor(CatsController.prototype, 'find'));
  class Application {}
  common.Module({
    imports: [throttler.ThrottlerModule.forRoot({ throttlers, storage: new ThrottlerStorageRedisService(place.client()) })],
    controllers: [CatsController],
    providers: [{ provide: core.APP_GUARD, useClass: throttler.ThrottlerGuard }],
  })(Application);
  const app = await core.NestFactory.create(Application, { logger: false });
  await app.listen(0, '127.0.0.1');
  place.onClose(() => app.close());
  return { address: await app.getUrl() };
};
const request = async ({ address }) => {
  const response = await fetch(address, { headers: { connection: 'close' } });
  await response.text();
  return fromHTTP(response, names);
};

const base = {
  library: 'nest-throttler-storage-redis', version: `${version('@nest-lab/throttler-storage-redis')} (@nestjs/throttler ${version('@nestjs/throttler')})`, client: ioredis,
  algorithm: 'fixed-window', in_redis: ['window'], denied: 'charged', call: request,
};
const story = (scenario, limit, ttl, more, script, notes = []) => ({
  ...base, scenario, configured: { limit, window_ms: ttl }, open: openApplication([{ limit, ttl, ...more }]), script, notes,
});

// increment asks a storage as the guard does.
const increment = (limit, ttl, block) => async (storage) => {
  const raw = await storage.increment('cats-203.0.113.7', ttl, limit, block, 'default');
  return answer({ allowed: !raw.isBlocked, limit, remaining: Math.max(0, limit - raw.totalHits), retry_after_ms: raw.isBlocked ? raw.timeToBlockExpire * 1000 : 0, reset_after_ms: raw.timeToExpire * 1000, raw });
};

export default [
  story('basic', 5, 4000, {}, [...whole(5, 4000)], ['blockDuration is the ttl unless given: the block starts with the first denied call and outlives the window', 'the key is the SHA-256 of controller, handler, throttler and tracker', 'the call that finds the block over while hits remain counts on']),
  story('minute', 100, 60000, {}, minute(100)),
  story('block', 3, 2000, { blockDuration: 5000 }, [take(3), peek, take(1), peek, take(2), peek, until(2500), take(1), peek, until(5400), take(2)], ['while blocked every call counts in hits; hits may expire and start again under the block']),
  story('short-block', 3, 4000, { blockDuration: 1000 }, [take(3), take(1), peek, until(1600), take(1), peek, until(2900), take(1), peek, until(4200), take(1)], ['a block shorter than the window: when it ends, hits still stand above the limit and the next call starts a new block']),
  {
    ...base, scenario: 'named', configured: { limit: 3, window_ms: 1500 }, open: openApplication([{ name: 'short', limit: 3, ttl: 1500 }, { name: 'long', limit: 5, ttl: 5000 }]),
    call: async (app) => {
      const said = await request(app);
      return { ...said, ...{ limit: null, remaining: null, reset_after_ms: null } };
    },
    script: [take(3), peek, take(2), until(3300), take(2), peek, take(1), peek], notes: ['two throttlers, short 3 in 1.5 s and long 5 in 5 s: the name stands in the key behind the hash; the first that denies ends the request, the later ones are not charged'],
  },
  {
    ...base, library: 'nestjs-throttler-storage-redis', version: version('nestjs-throttler-storage-redis'), scenario: 'basic', configured: { limit: 4, window_ms: 3000 },
    open: async (place) => new older.ThrottlerStorageRedisService(place.client()), call: increment(4, 3000, 3000), script: whole(4, 3000), name: () => "increment('cats-203.0.113.7', 3000, 4, 3000, 'default')",
  },
  {
    ...base, library: 'nestjs-redis-throttler-storage', version: version('@nestjs-redis/throttler-storage'), client: `redis ${version('redis')}`, scenario: 'block', configured: { limit: 3, window_ms: 2000 }, denied: 'partly',
    open: async (place) => {
      const client = createClient({ url: `redis://127.0.0.1:${place.port}/${place.database}` });
      await client.connect();
      place.onClose(() => client.destroy());
      return new RedisThrottlerStorage(client);
    },
    call: increment(3, 2000, 3000), script: [take(3), peek, take(1), peek, take(2), until(2500), take(1), peek, until(3400), take(1)], name: () => "increment('cats-203.0.113.7', 2000, 3, 3000, 'default')",
    notes: ['HASH with one field for each throttler, PEXPIRE once; string :block:<throttler>; while blocked nothing is charged', 'timeToBlockExpire is wrong in this version (milliseconds less Unix seconds): not taken as a truth'],
  },
];
