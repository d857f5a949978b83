<?php
// Holds one PHP limiter library and answers the recorder's questions, one line of JSON each.

require_once '/usr/share/php/Illuminate/Redis/autoload.php';
require_once '/usr/share/php/Illuminate/Cache/autoload.php';
require_once '/usr/share/php/Symfony/Component/Cache/autoload.php';
require_once '/usr/share/php/Symfony/Component/RateLimiter/autoload.php';

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Redis\Limiters\DurationLimiter;
use Illuminate\Redis\RedisManager;
use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Cache\Marshaller\DefaultMarshaller;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

function package_version(string $name): string
{
    return explode('+', trim(shell_exec("dpkg-query -W -f '\${Version}' " . escapeshellarg($name))))[0];
}

/** Returns Laravel's connection manager; the prefix is the one that config/database.php sets by default. */
function laravel_redis(int $port, int $db, array $config): RedisManager
{
    return new RedisManager(null, 'phpredis', [
        'options' => ['prefix' => $config['connection_prefix'] ?? ''],
        'default' => ['host' => '127.0.0.1', 'port' => $port, 'database' => $db],
    ]);
}

/** Counts as the middleware ThrottleRequests does: asks first, hits only when admitted. */
function open_laravel(int $port, int $db, array $config): array
{
    $limiter = new RateLimiter(new Repository(new RedisStore(laravel_redis($port, $db, $config), $config['cache_prefix'] ?? '')));
    [$key, $limit, $decay] = [$config['key'], $config['limit'], $config['decay']];
    $call = function (array $request) use ($limiter, $key, $limit, $decay): array {
        if ($request['clear'] ?? false) {
            $limiter->clear($key);
            return ["clear($key)", ['remaining' => $limiter->remaining($key, $limit)]];
        }
        $allowed = ($request['always_hit'] ?? false) ? null : !$limiter->tooManyAttempts($key, $limit);
        $hits = $allowed === false ? null : $limiter->hit($key, $decay);
        $allowed ??= $hits <= $limit;
        $remaining = $limiter->remaining($key, $limit);
        $available = $limiter->availableIn($key);
        return [($request['always_hit'] ?? false) ? "hit($key, $decay)" : "throttle:$limit,$decay s", [
            'allowed' => $allowed, 'limit' => $limit, 'remaining' => max(0, $remaining),
            'retry_after_ms' => $allowed ? 0 : $available * 1000, 'reset_after_ms' => $available * 1000,
            'raw' => ['tooManyAttempts' => !$allowed, 'hits' => $hits, 'remaining' => $remaining, 'availableIn' => $available],
        ]];
    };
    return [$call, package_version('php-illuminate-cache')];
}

function open_laravel_duration(int $port, int $db, array $config): array
{
    $connection = laravel_redis($port, $db, $config)->connection();
    $limiter = new DurationLimiter($connection, $config['key'], $config['limit'], $config['decay']);
    $call = function () use ($limiter, $config): array {
        $allowed = $limiter->acquire();
        $wait = $limiter->decaysAt - time();
        return ["Redis::throttle({$config['key']})->allow({$config['limit']})->every({$config['decay']})", [
            'allowed' => $allowed, 'limit' => $config['limit'], 'remaining' => $limiter->remaining,
            'retry_after_ms' => $allowed ? 0 : $wait * 1000, 'reset_after_ms' => $wait * 1000,
            'raw' => ['acquire' => $allowed, 'decaysAt' => $limiter->decaysAt, 'remaining' => $limiter->remaining],
        ]];
    };
    return [$call, package_version('php-illuminate-redis')];
}

function open_symfony(int $port, int $db, array $config): array
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', $port);
    $redis->select($db);
    $pool = new RedisAdapter($redis, $config['namespace'] ?? '', 0, new DefaultMarshaller($config['igbinary'] ?? true));
    $factory = new RateLimiterFactory($config['policy'], new CacheStorage($pool));
    $limiter = $factory->create($config['key'] ?? null);
    $call = function (array $request) use ($limiter): array {
        $limit = $limiter->consume($request['cost']);
        $retry = (float) $limit->getRetryAfter()->format('U.u') - microtime(true);
        return ["consume({$request['cost']})", [
            'allowed' => $limit->isAccepted(), 'limit' => $limit->getLimit(), 'remaining' => $limit->getRemainingTokens(),
            'retry_after_ms' => $limit->isAccepted() ? 0 : max(0, round($retry * 1000)),
            'raw' => ['accepted' => $limit->isAccepted(), 'remaining' => $limit->getRemainingTokens(),
                'retryAfter' => $limit->getRetryAfter()->format('U.u')],
        ]];
    };
    return [$call, package_version('php-symfony-rate-limiter')];
}

$openers = ['laravel' => 'open_laravel', 'laravel-redis-throttle' => 'open_laravel_duration', 'symfony-rate-limiter' => 'open_symfony'];
while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line, true);
    if ($request['do'] === 'open') {
        [$call, $version] = $openers[$request['library']]($request['port'], $request['db'], $request['config']);
        $reply = ['version' => $version, 'client' => 'phpredis ' . phpversion('redis')];
    } else {
        [$said, $answer] = $call($request);
        $reply = ['call' => $said, 'answer' => $answer];
    }
    echo json_encode($reply), "\n";
    flush();
}
