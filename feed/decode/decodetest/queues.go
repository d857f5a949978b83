package decodetest

import (
	"fmt"
	"time"
)

// queues are the keys of job queues.
var queues = []kind{
	{name: "Sidekiq's queues and counts", once: true, write: func(w *writer, i int) {
		w.do("SADD", "queues", "default", "mailers")
		w.set("stat:processed", 4711, 0)
		w.set("stat:processed:2026-11-22", 471, 5*365*24*time.Hour)
		w.do("SADD", "processes", "web-1:42:0a1b2c3d4e5f")
	}},
	{name: "Sidekiq's jobs", write: func(w *writer, i int) {
		job := func() string {
			return fmt.Sprintf(`{"class":"Mail","args":["%s"],"jid":"%s","created_at":%.6f}`, w.secret(), w.hex(24), w.seconds(-time.Minute))
		}
		w.do("LPUSH", fmt.Sprintf("queue:q%d", i), job())
		w.do("ZADD", "retry", w.seconds(time.Duration(i)*time.Second), job())
		w.do("ZADD", "schedule", w.seconds(time.Duration(i)*time.Minute), job())
		w.do("HSET", "j|20261122|5:"+fmt.Sprint(i%60), "Mail|ms", w.upTo(1, 900), "Mail|p", w.upTo(1, 9), "Mail|f", 0)
		w.expire("j|20261122|5:"+fmt.Sprint(i%60), 8*time.Hour)
	}},
	{name: "Resque", write: func(w *writer, i int) {
		w.do("LPUSH", fmt.Sprintf("resque:queue:q%d", i), `{"class":"Mail","args":["`+w.secret()+`"]}`)
		w.do("ZADD", "resque:delayed_queue_schedule", w.second(time.Duration(i)*time.Minute), w.second(time.Duration(i)*time.Minute))
		w.set("resque:resque-retry:Mail:"+fmt.Sprint(i), w.upTo(0, 3), w.within(time.Hour))
	}},
	{name: "Celery", write: func(w *writer, i int) {
		tag := w.uuid()
		w.do("LPUSH", "celery", `{"body":"`+w.secret()+`","headers":{"id":"`+tag+`"}}`)
		w.do("HSET", "unacked", tag, `["`+w.word(9)+`"]`)
		w.do("ZADD", "unacked_index", w.seconds(-time.Second), tag)
		w.set("celery-task-meta-"+w.uuid(), `{"status":"SUCCESS","result":"`+w.word(9)+`"}`, w.within(24*time.Hour))
		w.do("SADD", "_kombu.binding.celery", "celery\x06\x16\x06\x16celery")
	}},
	{name: "RQ", write: func(w *writer, i int) {
		id := w.uuid()
		w.do("LPUSH", "rq:queue:default", id)
		w.do("HSET", "rq:job:"+id, "created_at", "2026-11-22T05:00:00Z", "data", "x\x9c"+w.secret(), "status", "queued", "timeout", 180)
		w.expire("rq:job:"+id, w.within(500*time.Second))
		w.do("ZADD", "rq:finished:default", w.second(500*time.Second), id)
		w.set("rq:clean_registries:default", "1", w.within(899*time.Second))
	}},
	{name: "Dramatiq", write: func(w *writer, i int) {
		w.do("LPUSH", "dramatiq:default", w.uuid())
		w.do("ZADD", "dramatiq:__heartbeats__", w.millis(-time.Second), w.uuid())
		w.do("HSET", "dramatiq:default.msgs", w.uuid(), `{"args":["`+w.word(9)+`"]}`)
	}},
	{name: "arq", write: func(w *writer, i int) {
		id := w.hex(32)
		w.do("ZADD", "arq:queue", w.millis(time.Duration(i)*time.Second), id)
		w.set("arq:retry:"+id, w.upTo(1, 3), w.within(time.Hour))
		w.set("arq:in-progress:"+id, "1", w.within(5*time.Minute))
	}},
	{name: "Laravel's queues", write: func(w *writer, i int) {
		w.do("RPUSH", "laravel_database_queues:default", `{"uuid":"`+w.uuid()+`","attempts":0,"data":"`+w.secret()+`"}`)
		w.do("ZADD", "laravel_database_queues:default:delayed", w.second(time.Duration(i)*time.Minute), `{"uuid":"`+w.uuid()+`"}`)
		w.do("ZADD", "laravel_horizon:recent_jobs", -w.seconds(0), w.uuid())
		w.do("HSET", fmt.Sprintf("laravel_horizon:job:App\\Jobs\\Mail%d", i), "throughput", w.upTo(1, 90), "runtime", 12.5)
	}},
	{name: "Django's channel layer", write: func(w *writer, i int) {
		key := fmt.Sprintf("asgi:group:chat_%d", i)
		w.do("ZADD", key, w.seconds(-time.Minute), "specific."+w.hex(16)+"!"+w.hex(16))
		w.expire(key, 24*time.Hour)
	}},
	{name: "Bull", write: func(w *writer, i int) { w.bull(i, "bullv3") }},
	{name: "BullMQ", write: func(w *writer, i int) {
		w.bull(i, "bull")
		w.do("HSET", "bull:mail:meta", "opts.maxLenEvents", 10000, "version", "bullmq:6.7.0")
		w.do("ZADD", "bull:mail:marker", 0, "0")
		w.do("XADD", "bull:mail:events", "*", "event", "waiting", "jobId", fmt.Sprint(i))
	}},
	{name: "Huey", write: func(w *writer, i int) {
		w.do("LPUSH", "huey.redis.mail", "\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x18"+w.secret()+"\x94.")
		w.do("ZADD", "huey.schedule.mail", w.seconds(time.Hour), "\x80\x04\x95"+w.word(9))
	}},
}

// bull writes what Bull and BullMQ keep of one job.
func (w *writer) bull(i int, prefix string) {
	id := fmt.Sprintf("%s:mail:%d", prefix, i+1)
	w.do("HSET", id, "name", "send", "data", `{"token":"`+w.secret()+`"}`, "opts", `{"attempts":0}`, "timestamp", w.millis(-time.Minute), "delay", 0)
	w.set(id+":lock", w.uuid(), w.within(30*time.Second))
	w.set(prefix+":mail:id", i+1, 0)
	w.set(prefix+":mail:stalled-check", w.millis(0), 30*time.Second)
	w.do("LPUSH", prefix+":mail:wait", fmt.Sprint(i+1))
	w.do("ZADD", prefix+":mail:completed", w.millis(-time.Minute), fmt.Sprint(i+1))
	w.do("ZADD", prefix+":mail:delayed", w.millis(time.Hour)*4096, fmt.Sprint(i+1))
}
