// A server whose three handlers note each request in an audit log.  The culprit: a handler keeps the
// log's lock while it sends its line, which takes 10 ms; the twin sends it without the lock.  A lock
// of Rust's has no owner that could be read.
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

static LOG: Mutex<Vec<u64>> = Mutex::new(Vec::new());

#[inline(never)]
fn send_line(request: u64) -> u64 {
    thread::sleep(Duration::from_millis(10));
    request
}

fn keep_line(log: &mut Vec<u64>, line: u64) {
    if log.len() > 1000 {
        log.clear();
    }
    log.push(line);
}

#[inline(never)]
fn note_request(request: u64, twin: bool) {
    if twin {
        let line = send_line(request);
        keep_line(&mut LOG.lock().unwrap(), line);
    } else {
        let mut log = LOG.lock().unwrap();
        let line = send_line(request);
        keep_line(&mut log, line);
    }
}

fn handle_all(end: Instant, twin: bool) -> (f64, u64) {
    let mut noting = Duration::ZERO;
    let mut requests = 0;
    while Instant::now() < end {
        let start = Instant::now();
        note_request(requests, twin);
        noting += start.elapsed();
        requests += 1;
        thread::sleep(Duration::from_millis(1));
    }
    (noting.as_secs_f64(), requests)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds: f64 = args[1].parse().expect("SECONDS");
    let twin = args.iter().any(|a| a == "--twin");
    println!("ready");
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let handlers: Vec<_> = (0..3)
        .map(|n| {
            let thread = thread::Builder::new().name(format!("handler-{n}"));
            thread.spawn(move || handle_all(end, twin)).expect("a thread")
        })
        .collect();
    let done: Vec<(f64, u64)> = handlers.into_iter().map(|h| h.join().unwrap()).collect();
    let requests: u64 = done.iter().map(|d| d.1).sum();
    println!("{{\"requests_per_s\": {}}}", requests as f64 / seconds);
}
