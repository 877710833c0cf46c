"""Adds up, while the threads of many packages wait for work, for their server or for time."""
import logging.handlers
import os
import queue

import confluent_kafka
import prometheus_client
import pymongo
import sentry_sdk
from apscheduler.schedulers.background import BackgroundScheduler
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from steady import Steady
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

sentry_sdk.init(dsn="http://key@127.0.0.1:9/1", traces_sample_rate=1.0)
sentry_sdk.capture_message("begins")
with open("/dev/null", "w", encoding="utf-8") as nowhere:
    TracerProvider().add_span_processor(BatchSpanProcessor(ConsoleSpanExporter(out=nowhere)))
scheduler = BackgroundScheduler()
scheduler.add_job(print, "interval", seconds=600)
scheduler.start()
observer = Observer()
observer.schedule(FileSystemEventHandler(), "/tmp")
observer.start()
kept = [pymongo.MongoClient("mongodb://127.0.0.1:1", serverSelectionTimeoutMS=10**8),
        confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})]
prometheus_client.start_http_server(0)
logging.handlers.QueueListener(queue.Queue(), logging.StreamHandler()).start()


def fold(number):
    return sum(item * item % 7 for item in range(number))


run = Steady()
run.ready()
while run.goes_on():
    fold(300000)

run.tell_work()
os._exit(0)
