// A service: three handlers send what they are asked to a writer and wait until it is written.  The
// culprit: the writer spends 15 ms on the checksum of each record; the twin's checksum is quick.
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

struct Record {
    key: u64,
    written: SyncSender<u64>,
}

#[inline(never)]
fn checksum(key: u64, time: Duration) -> u64 {
    let start = Instant::now();
    let mut sum = key;
    while start.elapsed() < time {
        for i in 0..1000 {
            sum = (sum ^ i).wrapping_mul(0x0100_0000_01b3);
        }
    }
    sum
}

#[inline(never)]
fn write_records(records: Receiver<Record>, time: Duration) {
    for record in records {
        let sum = checksum(record.key, time);
        let _ = record.written.send(sum);
    }
}

#[inline(never)]
fn handle(request: u64, records: &Sender<Record>) -> u64 {
    let (written, done) = sync_channel(1);
    let _ = records.send(Record { key: request, written });
    done.recv().unwrap_or(0)
}

fn handle_all(records: Sender<Record>, end: Instant) -> f64 {
    let mut waited = Duration::ZERO;
    let mut request = 1;
    while Instant::now() < end {
        let start = Instant::now();
        request = handle(request, &records);
        waited += start.elapsed();
        thread::sleep(Duration::from_millis(2));
    }
    waited.as_secs_f64()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds: f64 = args[1].parse().expect("SECONDS");
    let time = Duration::from_micros(if args.iter().any(|a| a == "--twin") { 50 } else { 15_000 });
    println!("ready");
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let (records, inbox) = channel();
    let writer = thread::Builder::new().name("writer".into());
    let writer = writer.spawn(move || write_records(inbox, time)).expect("a thread");
    let handlers: Vec<_> = (0..3)
        .map(|i| {
            let records = records.clone();
            let handler = thread::Builder::new().name(format!("handler-{i}"));
            handler.spawn(move || handle_all(records, end)).expect("a thread")
        })
        .collect();
    drop(records);
    let waited: Vec<f64> = handlers.into_iter().filter_map(|h| h.join().ok()).collect();
    let _ = writer.join();
    println!("{{\"share\": {:.4}}}", waited[0] / seconds);
}
