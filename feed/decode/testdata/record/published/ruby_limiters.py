"""Expresses the published rules of Ruby and newer PHP limiters as plain Redis commands, one after another."""

import math
import time

from python_limiters import answer, lua_number


def rails(redis, config):
    """Rails 7.2 and later: rate_limit counts in the cache store; the TTL is set with the first hit alone."""
    key, limit, window = config["key"], config["limit"], config["window"]

    def call(cost, **_):
        used = redis.incrby(key, cost)
        redis.execute_command("EXPIRE", key, window, "NX")
        return "GET /session", answer(used <= limit, limit, max(0, limit - used), None, None, count=used)

    return call


def laravel(redis, config):
    """Laravel 12: as Laravel 8 counts, under the names that its newer defaults give."""
    key, limit, decay = config["key"], config["limit"], config["decay"]

    def add(name, value):
        if not redis.exists(name):
            redis.setex(name, decay, value)
            return True
        return False

    def call(cost, **_):
        allowed = int(redis.get(key) or 0) < limit
        if not allowed and not redis.exists(f"{key}:timer"):
            redis.delete(key)
            allowed = True
        if allowed:
            add(f"{key}:timer", int(time.time()) + decay)
            added = add(key, 0)
            if redis.incrby(key, cost) == 1 and not added:
                redis.setex(key, decay, 1)
        wait = max(0, int(redis.get(f"{key}:timer") or 0) - int(time.time()))
        used = int(redis.get(key) or 0)
        return f"throttle:{limit}", answer(allowed, limit, max(0, limit - used), wait, wait, attempts=used, availableIn=wait)

    return call


def mastodon(redis, config):
    """Mastodon: the window's index ends the name; a call that is refused changes nothing."""
    limit, period = config["limit"], config["period"]

    def call(cost, **_):
        now = int(time.time())
        key = f"rate_limit:{config['account']}:{config['family']}:{now // period}"
        held = redis.get(key)
        if held is None:
            redis.set(key, 0)
            redis.expire(key, period - now % period + 1)
        allowed = int(held or 0) < limit
        if allowed:
            redis.incr(key)
        used = int(redis.get(key))
        reset = period - now % period
        return "record!", answer(allowed, limit, limit - used, reset, reset, remaining=limit - used)

    return call


def gitlab(redis, config):
    """GitLab's application rate limiter: an index ends the name; distinct resources are counted in a set."""
    limit, period = config["limit"], config["period"]

    def call(cost, resource=None, **_):
        index, elapsed = divmod(int(time.time()), period)
        key = f"application_rate_limiter:{config['action']}:{config['scope']}:{index}"
        if resource is None:
            used, added = redis.incr(key), True
        else:
            added = redis.sadd(key, resource)
            used = redis.scard(key)
        if added and used == 1:
            redis.expire(key, period - elapsed + 1)
        left = period - elapsed
        return f"throttled?({config['action']})", answer(used <= limit, limit, max(0, limit - used), left, left, value=used)

    return call


def discourse(redis, config):
    """Discourse: a list of whole seconds, newest first, of at most max entries; the oldest decides."""
    key, limit, window = config["key"], config["limit"], config["window"]

    def call(cost, **_):
        now = int(time.time())
        oldest = redis.lrange(key, -1, -1)
        allowed = redis.llen(key) < limit or now - int(oldest[0]) >= window
        if allowed or config.get("aggressive"):
            redis.lpush(key, now)
            redis.ltrim(key, 0, limit - 1)
            redis.expire(key, 2 * window)
        live = [entry for entry in redis.lrange(key, 0, limit) if now - int(entry) <= window]
        wait = window - (now - int(redis.lrange(key, -1, -1)[0]))
        return "performed!", answer(allowed, limit, limit - len(live), wait, None, remaining=limit - len(live), seconds_to_wait=wait)

    return call


def prorate(redis, config):
    """prorate: a leaky bucket of two strings, and a third that blocks once the bucket is full."""
    limit, period, block_for, name = config["limit"], config["period"], config["block_for"], config["name"]
    level_key, updated_key, block_key = f"{name}.bucket_level", f"{name}.last_updated", f"{name}.block"

    def call(cost, **_):
        rate, life = limit / period, math.ceil(limit / (limit / period))
        whole, micros = redis.time()
        now = whole + micros / 1e6
        if until := redis.get(block_key):
            return "throttle!", answer(False, limit, None, float(until) - now, None, blocked=float(until) - now)
        level = max(0, float(redis.get(level_key) or 0) - rate * (now - float(redis.get(updated_key) or now)))
        allowed = level + cost <= limit
        if allowed:
            level += cost
        else:
            redis.setex(block_key, block_for, lua_number(now + block_for))
        redis.setex(level_key, life, lua_number(level))
        redis.setex(updated_key, life, lua_number(now))
        remaining = limit - math.ceil(level) if allowed else None
        return "throttle!", answer(allowed, limit, remaining, block_for, None, bucket_level=math.ceil(level) if allowed else -1)

    return call


def ratelimit_hash(redis, config):
    """The gem ratelimit: a hash of buckets by index; the application asks and adds by itself."""
    key, limit, interval = f"ratelimit:{config['key']}", config["limit"], config["interval"]
    grain, span = config["bucket_interval"], config["bucket_span"]

    def call(cost, **_):
        now = int(time.time())
        oldest, newest = (now - interval) // grain, now // grain
        count = lambda: sum(int(redis.hget(key, index) or 0) for index in range(oldest + 1, newest + 1))
        used = count()
        if used < limit:
            redis.hincrby(key, newest, cost)
            redis.expire(key, span + grain)
        return f"exceeded?({limit} in {interval} s), add", answer(used < limit, limit, max(0, limit - count()), None, None, count=used)

    return call
