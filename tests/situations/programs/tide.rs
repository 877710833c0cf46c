// Adds up the heights of the tide.  The culprit: it was compiled without optimisation, so that each
// step of an iterator is a call; the twin was compiled with it.
use std::time::{Duration, Instant};

#[inline(never)]
fn add_heights(heights: &[u64]) -> u64 {
    let mut sum = 0u64;
    for i in 1..heights.len() {
        sum = sum.wrapping_add(heights[i] ^ heights[i - 1]);
    }
    for height in heights.iter().filter(|height| **height % 3 == 0) {
        sum ^= height;
    }
    sum
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(5.0);
    let heights: Vec<u64> = (0..20_000).map(|i| i * 7919 % 1000).collect();
    println!("ready");
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    let (mut sum, mut rounds) = (0, 0.0);
    while Instant::now() < end {
        sum ^= add_heights(&heights);
        rounds += 1.0;
    }
    println!("{{\"sum\": {}, \"work_per_s\": {}}}", sum % 2, rounds / seconds);
}
