"""Programs of real libraries: what summary/known.def says of each is tried by what its own code
does.  They are no live tests, for they need packages that a machine rarely has; each was recorded
once, by `run --record --python FILE`, FILE being a Python with these packages.  Their words have
what expected.py has of the situations.
"""
from situations import HAS_TASKS, Situation, healthy

# Slow code: its kind in slow.py, and what wallspy says of it.
SLOW = {
    "copies": r"copy\.deepcopy\(\) runs",
    "callers": r"inspect\.stack\(\) runs",
    "encodes": r"Python's json encodes without C",
    "rows": r"DataFrame\.iterrows\(\) runs",
    "applies": r"DataFrame\.apply\(\) runs",
    "settings": r"PyYAML scans in Python",
    "dates": r"Python's strptime\(\) runs",
    "guesses": r"dateutil guesses formats of dates",
    "plugins": r"importlib\.metadata\.entry_points\(\) runs",
    "pickles": r"Python's pickle works without C",
    "unpickles": r"Python's pickle works without C",
    "means": r"statistics\.mean\(\) runs",
    "literals": r"ast\.literal_eval\(\) runs",
    "schemas": r"jsonschema checks its schema",
    "arrays": r"numpy\.append\(\) runs",
    "vectors": r"numpy\.vectorize\(\) runs",
    "signatures": r"inspect\.signature\(\) runs",
    "hints": r"typing\.get_type_hints\(\) runs",
    "fields": r"dataclasses\.asdict\(\) runs",
    "protocols": r"isinstance\(\) with a runtime_checkable Protocol runs",
    "contexts": r"ssl\.create_default_context\(\) runs",
    "loops": r"asyncio makes event loops",
    "futures": r"concurrent\.futures\.wait\(\) runs",
    "documents": r"xml\.dom\.minidom makes its tree in Python",
    "models": r"pydantic builds schemas",
    "pages": r"html\.parser reads HTML in Python",
    "templates": r"Jinja compiles templates",
    "clients": r"botocore makes clients",
    "decimals": r"Python's decimal works without C",
    "forks": r"fork\(\) runs|Fewer forks",
    "numba_functions": r"numba compiles functions",
    "jax_shapes": r"JAX compiles there",
    "torch_shapes": r"torch\.compile\(\) compiles there",
    "triton_kernels": r"Triton compiles kernels",
    "encodings": r"The encoding of bytes is guessed",
    "detects": r"The encoding of bytes is guessed",
    "relations": r"SQLAlchemy loads a relationship of one object",
    "foreign_keys": r"Django loads a related object",
    "fonts": r"matplotlib looks at all fonts",
    "distributions": r"pkg_resources looks at all installed packages",
    "workbooks": r"openpyxl loads whole workbooks",
    "sparse": r"Elements of a sparse matrix in rows or columns are set",
    "cells": r"pandas' loc, iloc and at run",
    "concats": r"pandas\.concat\(\) copies",
    "tuples": r"namedtuple\(\) makes classes",
    "bars": r"tqdm draws its bar",
    "records": r"logging makes and writes records",
    "traces": r"traceback reads stacks",
    "csvs": r"pandas reads CSV in Python",
    "groups": r"groupby\(\)\.apply\(\) runs",
    "numbers": r"numpy\.genfromtxt\(\) reads in Python",
    "statements": r"SQLAlchemy compiles SQL",
    "answers": r"FastAPI encodes an answer in Python",
    "protobufs": r"protobuf works without C",
    "messages": r"msgpack works without C",
    "replies": r"redis reads answers in Python",
    "heads": r"h11 reads HTTP in Python",
    "signatures_of_rsa": r"rsa computes in Python",
    "signatures_of_ecdsa": r"ecdsa computes in Python",
    "documents_of_toml": r"tomlkit reads in Python",
    "likenesses": r"difflib compares in Python",
    "covered": r"coverage follows each line",
    "profiled": r"cProfile follows each call",
    "members": r"Members of a zip file are read up to a place",
    "timers": r"sched's cancel\(\) looks for its event among all",
    "slices": r"Parts of bytes are copied",
    "cached_calls": r"lru_cache calls its function",
    "choices": r"RandomState\.choice\(\) shuffles",
    "views": r"networkx filters all nodes for a view of a subgraph",
    "broken_links": r"traceback formats stacks",
    "converters": r"iconv_open\(\) loads converters",
}
# By which rules, where it is not what main computes.
SAID_BY = {"forks": "page_faults", "converters": "computes|page_faults", "jax_shapes": "waits.*",
           "torch_shapes": "waits.*"}
# Where, if not in slow(): torch waits for the compiler in the module that it has made.
PLACES = {"torch_shapes": (r"AsyncCompile\.wait|Future\.result",)}
PLACE = (r"\b(slow|count|fill|write|parse|ask|add|add_up|quick|read|look_up|describe|fail) "
         r"slow(_packages|_fallbacks|_again)?\.py",)
# What else their way out costs.
TWINS_SAY = ("gil", "gc", "page_faults", "uneven", "spinning")


def slow(kind, says):
    return Situation(f"slow-{kind.replace('_', '-')}", f"slow code: {says}",
                     "{programs}/real/slow.py {seconds} " + kind, SAID_BY.get(kind, "computes"),
                     PLACES.get(kind, PLACE) + (says,), twin_says=TWINS_SAY)


def pool(library, words):
    """All connections of a pool of LIBRARY's are taken, and none comes back."""
    return Situation(f"pool-{library}", f"all connections of {library}'s pool are taken",
                     "{programs}/real/pool_leak.py {seconds} " + library, "waits",
                     (r"4 handler threads wait 100% of their time in list_orders pool_leak\.py",
                      words), twin="")


def again(library):
    """A call of LIBRARY's fails again and again."""
    return Situation(f"again-{library}", f"{library} sleeps before it makes a call again",
                     "{programs}/real/retry_call.py {seconds} " + library, "waits",
                     (r"main sleeps \d+% of its time in (price_of|of_\w+) retry_call\.py:\d+ > ",
                      "A call failed there, or did not give what is wanted"), twin="")


def silent(service, words):
    """SERVICE, which a library asks first, does not answer."""
    return Situation(f"silent-{service}", f"a library waits for its {service}",
                     "{programs}/real/silent_service.py {seconds} " + service, "waits",
                     (r"main waits \d+% of its time in (load_prices|of_\w+) silent_service\.py",
                      words), twin="")


def real(name, culprit, rule, *words, **more):
    """A program of a library, which has no twin."""
    return Situation(name, culprit, "{programs}/real/" + name.replace("-", "_") + ".py {seconds}",
                     rule, words, twin="", **more)


def real_healthy(name, *rules, **more):
    return healthy(name, "{programs}/real/" + name.replace("-", "_") + ".py {seconds}", *rules,
                   **more)


LIBRARIES = [slow(kind, says) for kind, says in SLOW.items()] + [
    real("gevent-server", "price() computes in gevent's hub", "event_loop",
         r"price gevent_server\.py"),
    real("gunicorn-app", "price() computes in a worker's hub", "event_loop",
         r"price gunicorn_app\.py", options=("-s",)),
    real("celery-shop", "main waits for price() in celery's workers", "waits.*|computes",
         r"price celery_shop\.py", options=("-s",), not_words=("event loop", "for a CPU")),
    real("ray-map", "main waits for simulate() in Ray's workers", "waits.*",
         r"gather ray_map\.py", r"simulate ray_map\.py", options=("-s",), usual=True,
         not_words=("differs",)),
    real("dask-map", "main waits for simulate() in Dask's workers", "waits.*",
         r"gather dask_map\.py", r"Meanwhile 2 .*Dask.* simulate", options=("-s",), usual=True),
    real("loky-fit", "main looks again and again for the fits of joblib's processes", "polls",
         r"fit_all loky_fit\.py", r"_retrieve", r"Meanwhile .* in fit <dynamic-code>",
         options=("-s",)),
    real("jax-settle", "main waits for what JAX computes", "waits.*",
         r"(settle|fetch) jax_settle\.py", "JAX computes there what was called before"),
    real("polars-totals", "main waits for polars' pool", "waits_meanwhile",
         r"totals polars_totals\.py", r"polars-0 and polars-1"),
    real("duckdb-totals", "main and DuckDB's threads compute", "computes|waits.*",
         r"totals duckdb_totals\.py"),
    real("opencv-smooth", "main and OpenCV's threads compute", "computes|waits.*",
         r"smooth opencv_smooth\.py"),
    real("arrow-read", "main waits for arrow's pool, which has a task for each of two columns",
         "uneven", r"load arrow_read\.py", r"arrow pool", not_words=("chunksize",)),
    real("sklearn-train", "main and OpenMP's threads compute", "computes|waits.*",
         r"train sklearn_train\.py"),
    real("uvicorn-app", "report() computes in uvicorn's loop", "event_loop",
         r"report uvicorn_app\.py"),
    real("uvloop-server", "build_report() computes in uvloop's loop", "event_loop",
         r"build_report uvloop_server\.py"),
    real("trio-server", "build_report() computes in trio's loop", "event_loop",
         r"build_report trio_server\.py"),
    real("grpc-client", "main waits for an answer of a gRPC server, which sleeps", "waits.*",
         r"look grpc_client\.py", options=("-s",)),
    real("xdist-run", "pytest waits for test_price() in both processes", "waits_meanwhile",
         r"test_price xdist_run\.py", options=("-s",), not_words=("for a CPU",)),
    real("idle-services", "fold() computes, and fourteen threads are idle", "computes|gil",
         r"\bmain\b", r"fold idle_services\.py", not_words=("Meanwhile", "event loop")),
    real("uwsgi-app", "price() computes in uWSGI's processes", "computes",
         r"price uwsgi_app\.py", options=("-s",)),
    real("pyinstaller-app", "price() computes", "computes", r"price pyinstaller_app\.py",
         options=("-s",)),
    real("nuitka-app", "price() computes, as C", "computes", r"\$\$\$function__1_price"),
    real("tokenizers-encode", "main waits for its pool of rayon's", "waits_meanwhile",
         r"encode tokenizers_encode\.py", "2 rayon worker threads"),
    real("torch-loader", "main waits for its DataLoader, whose processes compute",
         "waits.*", r"next_batch torch_loader\.py", r"__getitem__ torch_loader\.py",
         options=("-s",)),
    real("torch-ranks", "rank1 loads for longer", "differs|waits.*", r"load_batch torch_ranks\.py",
         r"they are in train torch_ranks\.py", options=("-s",)),
    # Its OpenMP spins at barriers for about a fourth of the time, and that comes first.
    real("torch-backward", "torch computes", "spinning|computes", r"take_step torch_backward\.py"),
    real("openblas-solve", "OpenBLAS computes", "computes|waits.*", r"multiply openblas_solve\.py"),
    real("node-app", "price() computes", "computes", r"price"),
    real("h5py-read", "four threads wait for h5py's lock", "waits.*|exhausted",
         r"read_slab h5py_read\.py", "h5py lets one thread at a time into HDF5",
         not_words=(r"main is 100% in",)),
    real("rocksdict-store", "main waits until RocksDB's compactions have caught up", "waits.*",
         r"store_rows rocksdict_store\.py", "RocksDB delays writes there",
         not_words=(r"rocksdb:high waits",)),
    real("tokio-app", "tasks of tokio's sleep as threads do", "waits.*|stalls|event_loop",
         r"desk::look_up main\.rs:7", r"event loops? \(tokio\) from polling"),
    real("go-app", "main.price() computes", "computes", r"main\.price"),
    real("postgres-lock", "a backend waits for another session's row", "waits",
         r"main waits 100% of its time in XactLockTableWait > LockAcquireExtended",
         r"pg_blocking_pids\(\)"),
    real("ucx-exchange", "main spins for its server's messages", "spinning",
         r"for messages of UCX", r"uct_tcp_iface_progress"),
    real("jupyter-cell", "a cell waits for a server, in the kernel's event loop", "waits",
         r"main waits \d+% of its time in fetch \d+\.py:\d > recvfrom",
         not_words=("event loop", "Heartbeat", "sleeps")),
    again("tenacity"), again("backoff"), again("urllib3"), again("openai"),
    pool("sqlalchemy", "All connections of the pool are taken: SQLAlchemy waits"),
    pool("urllib3", "All connections of the pool are taken: urllib3 waits"),
    pool("httpx", "All connections of the pool are taken: httpx waits"),
    pool("psycopg", "No connection of the pool is free: psycopg waits"),
    pool("dbutils", "All connections of the pool are taken: DBUtils waits"),
    real("sqlalchemy-pool", "three have a connection, of three, and each takes another one",
         "exhausted", r"5\.0 of 8 clerk threads wait in book_trip sqlalchemy_pool\.py",
         r"3\.0 are past that, in note sqlalchemy_pool\.py", "Each of them has one"),
    real("cached-totals", "six threads ask for one cached_property, each of an object of its own",
         "contention", r"6 branch threads", r"called from add_up cached_totals\.py",
         r"6 threads hold it in turn, \d+% of that time in Branch\.turnover cached_totals\.py",
         r"Before Python 3\.12 a cached_property has one lock for all"),
    real("tls-client", "main waits for a TLS server", "waits.*", r"ask_rate tls_client\.py",
         r"SSLSocket\.(read|recv) ", not_words=("BIO_read", "_ssl")),
    real_healthy("java-app"),
    silent("metadata", r"botocore asks EC2's metadata service for credentials there"),
    silent("hub", r"The Hugging Face Hub is asked there; with HF_HUB_OFFLINE=1"),
    real("watchdog-poll", "PollingObserver looks at 6000 files again and again", "computes",
         r"EventEmitter\.run computes: it ran \d+%.*it is idle \d+%",
         "watchdog's PollingObserver looks at each file"),
]
