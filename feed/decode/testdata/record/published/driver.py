"""Plays the published rules of limiters that no registry here holds, and answers the recorder, one line of JSON each."""

import json
import sys

import python_limiters
import redis
import ruby_limiters

RULES = {
    "limits": (python_limiters.limits, "5.8.0"),
    "throttled-py": (python_limiters.throttled_py, "3.3.1"),
    "pyrate-limiter": (python_limiters.pyrate_limiter, "4.4.0"),
    "fastapi-limiter": (python_limiters.fastapi_limiter, "0.1.6"),
    "django-ratelimit": (python_limiters.django_ratelimit, "4.1.0"),
    "django-rest-framework": (python_limiters.django_rest_framework, "3.16 (Django 5)"),
    "sentry": (python_limiters.sentry, "commit 0a49dff"),
    "rspamd": (python_limiters.rspamd, "commit 092940e"),
    "rails": (ruby_limiters.rails, "8.1.3"),
    "laravel": (ruby_limiters.laravel, "12 (commit 035c723)"),
    "mastodon": (ruby_limiters.mastodon, "commit 0486db9"),
    "gitlab": (ruby_limiters.gitlab, "commit 0286e4c"),
    "discourse": (ruby_limiters.discourse, "names l-rate-limit3"),
    "prorate": (ruby_limiters.prorate, "0.7.1"),
    "ratelimit-ruby": (ruby_limiters.ratelimit_hash, "1.1.0"),
}


def main():
    call = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "open":
            rule, version = RULES[request["library"]]
            call = rule(redis.Redis(port=request["port"], db=request["db"]), request["config"])
            reply = {"version": version, "client": "published commands, issued one by one"}
        else:
            request.pop("do")
            said, answer = call(**request)
            reply = {"call": said, "answer": answer}
        print(json.dumps(reply), flush=True)


main()
