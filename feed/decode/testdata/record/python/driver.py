"""Holds one Python limiter library and answers the recorder's questions, one line of JSON each."""

import json
import math
import sys
import time
from importlib.metadata import version

CLIENT = f"redis-py {version('redis')}"


def open_limits(port, db, config):
    from limits import parse
    from limits.storage import storage_from_string
    from limits.strategies import STRATEGIES

    storage = storage_from_string(f"redis://127.0.0.1:{port}/{db}")
    limiter, item = STRATEGIES[config["strategy"]](storage), parse(config["limit"])

    def call(cost, **_):
        allowed = limiter.hit(item, *config["identifiers"], cost=cost)
        reset, remaining = limiter.get_window_stats(item, *config["identifiers"])
        answer = {
            "allowed": allowed, "limit": item.amount, "remaining": remaining,
            "reset_after_ms": round((reset - time.time()) * 1000), "raw": {"hit": allowed, "window_stats": [reset, remaining]},
        }
        return f"hit({item}, {', '.join(config['identifiers'])}, cost={cost})", answer

    return call, version("limits"), storage


def open_flask_limiter(port, db, config):
    from flask import Flask
    from flask_limiter import Limiter
    from flask_limiter.util import get_remote_address

    app = Flask("recorded")
    limiter = Limiter(
        get_remote_address, app=app, default_limits=config.get("default_limits"), strategy=config["strategy"],
        storage_uri=f"redis://127.0.0.1:{port}/{db}", headers_enabled=True, key_prefix=config.get("key_prefix", ""),
        application_limits=config.get("application_limits"),
    )
    view = lambda: "ok"
    if "limit" in config:
        view = limiter.limit(config["limit"])(view)
    app.add_url_rule("/orders", "orders", view)
    client = app.test_client()

    def call(cost, address="198.51.100.7", **_):
        reply = client.get("/orders", environ_base={"REMOTE_ADDR": address})
        headers = {name: value for name, value in reply.headers.items() if name.lower().startswith(("x-ratelimit", "retry"))}
        retry = headers.get("Retry-After")
        answer = {
            "allowed": reply.status_code == 200, "limit": int(headers["X-RateLimit-Limit"]),
            "remaining": int(headers["X-RateLimit-Remaining"]),
            "retry_after_ms": 0 if reply.status_code == 200 else int(retry) * 1000,
            "reset_after_ms": round((float(headers["X-RateLimit-Reset"]) - time.time()) * 1000),
            "raw": {"status": reply.status_code, **headers},
        }
        return f"GET /orders from {address}", answer

    return call, f"{version('Flask-Limiter')} (limits {version('limits')})", app


def open_django_rest_framework(port, db, config):
    import django
    from django.conf import settings

    cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": f"redis://127.0.0.1:{port}/{db}", **config.get("cache", {})}
    settings.configure(
        CACHES={"default": cache}, INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework"],
        REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": {}}, USE_TZ=True,
    )
    django.setup()
    from rest_framework import throttling
    from rest_framework.test import APIRequestFactory

    kinds = {"anon": throttling.AnonRateThrottle, "user": throttling.UserRateThrottle}
    seconds = config.get("seconds")

    class Throttle(kinds[config["scope"]]):
        rate = config["rate"]

        def parse_rate(self, rate):
            requests, duration = super().parse_rate(rate)
            return requests, seconds or duration

    def call(cost, address="198.51.100.7", user=42, **_):
        request = APIRequestFactory().get("/orders", REMOTE_ADDR=address)
        request.user = type("User", (), {"is_authenticated": config["scope"] == "user", "pk": user})()
        throttle = Throttle()
        allowed = throttle.allow_request(request, None)
        wait = throttle.wait()
        retry = 0 if allowed else None if wait is None else math.ceil(wait) * 1000
        answer = {
            "allowed": allowed, "limit": throttle.num_requests, "retry_after_ms": retry,
            "raw": {"allow_request": allowed, "wait": wait, "history": len(throttle.history)},
        }
        return f"GET /orders, {config['scope']} {user if config['scope'] == 'user' else address}", answer

    about = f"{version('djangorestframework')} (Django {django.__version__}, django-redis {version('django-redis')})"
    return call, about, None


def open_django_axes(port, db, config):
    import django
    from django.conf import settings

    class NoUser:
        def authenticate(self, request, username=None, password=None):
            return None

    sys.modules["recorded"] = type("Module", (), {"NoUser": NoUser})
    cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": f"redis://127.0.0.1:{port}/{db}", **config.get("cache", {})}
    settings.configure(
        CACHES={"default": cache}, INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "axes"], USE_TZ=True,
        AUTHENTICATION_BACKENDS=["axes.backends.AxesBackend", "recorded.NoUser"], AXES_HANDLER="axes.handlers.cache.AxesCacheHandler",
        AXES_FAILURE_LIMIT=config["limit"], AXES_COOLOFF_TIME=config["hours"], AXES_ENABLE_ADMIN=False, AXES_VERBOSE=False,
        SILENCED_SYSTEM_CHECKS=["axes.W002", "axes.W003"],
    )
    django.setup()
    from axes.handlers.proxy import AxesProxyHandler
    from django.contrib.auth import authenticate
    from django.test import RequestFactory

    def call(cost, address="198.51.100.7", **_):
        request = RequestFactory().post("/login", {"username": "alice", "password": "wrong"}, REMOTE_ADDR=address)
        allowed = AxesProxyHandler.is_allowed(request, {"username": "alice"})
        authenticate(request, username="alice", password="wrong")
        failures = AxesProxyHandler.get_failures(request, {"username": "alice"})
        answer = {"allowed": allowed, "limit": config["limit"], "raw": {"is_allowed": allowed, "failures": failures}}
        return f"a failed login from {address}", answer

    return call, f"{version('django-axes')} (Django {django.__version__}, django-redis {version('django-redis')})", None


OPENERS = {
    "django-axes": open_django_axes,
    "limits": open_limits, "flask-limiter": open_flask_limiter, "django-rest-framework": open_django_rest_framework,
}


def main():
    kept = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "open":
            call, library, kept = OPENERS[request["library"]](request["port"], request["db"], request["config"])
            reply = {"version": library, "client": CLIENT}
        else:
            request.pop("do")
            said, answer = call(**request)
            reply = {"call": said, "answer": answer}
        print(json.dumps(reply), flush=True)
    del kept


main()
