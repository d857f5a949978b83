# Holds one Ruby limiter library and answers the recorder's questions, one line of JSON each.

require "json"
require "rack"
require "redis"
require "active_support"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "active_support/notifications"
require "rack/attack"

def open_rack_attack(port, db, config)
  url = "redis://127.0.0.1:#{port}/#{db}"
  Rack::Attack.cache.store =
    config["store"] == "redis" ? Redis.new(url: url) : ActiveSupport::Cache::RedisCacheStore.new(url: url, **(config["cache"] || {}).transform_keys(&:to_sym))
  Rack::Attack.cache.prefix = config["prefix"] if config["prefix"]
  limit, period = config["limit"], config["period"]
  if config["kind"] == "throttle"
    Rack::Attack.throttle(config["name"], limit: limit, period: period) { |request| request.ip }
  else
    filter = { "fail2ban" => Rack::Attack::Fail2Ban, "allow2ban" => Rack::Attack::Allow2Ban }.fetch(config["kind"])
    Rack::Attack.blocklist(config["name"]) do |request|
      filter.filter(request.ip, maxretry: limit, findtime: period, bantime: config["bantime"]) { request.path == "/login" }
    end
  end
  app = Rack::Attack.new(->(_env) { [200, {}, ["ok"]] })
  call = lambda do |request|
    address = request["address"] || "198.51.100.7"
    path = request["path"] || "/login"
    env = Rack::MockRequest.env_for(path, "REMOTE_ADDR" => address)
    status, headers, = app.call(env)
    data = (env["rack.attack.throttle_data"] || {})[config["name"]]
    reset = data && (period - data[:epoch_time] % period)
    answer = {
      allowed: status == 200, limit: data && data[:limit], remaining: data && [data[:limit] - data[:count], 0].max,
      retry_after_ms: status == 200 ? 0 : headers["Retry-After"] && headers["Retry-After"].to_i * 1000,
      reset_after_ms: reset && reset * 1000, raw: { status: status, retry_after: headers["Retry-After"], throttle_data: data }
    }
    ["GET #{path} from #{address}", answer]
  end
  [call, "#{Gem.loaded_specs["rack-attack"]&.version || `dpkg-query -W -f '${Version}' ruby-rack-attack`.split("-").first} (activesupport #{ActiveSupport::VERSION::STRING})"]
end

call = nil
$stdin.each_line do |line|
  request = JSON.parse(line)
  if request["do"] == "open"
    call, version = open_rack_attack(request["port"], request["db"], request["config"])
    reply = { version: version, client: "redis-rb #{Redis::VERSION}" }
  else
    said, answer = call.call(request)
    reply = { call: said, answer: answer }
  end
  $stdout.puts(JSON.generate(reply))
  $stdout.flush
end
