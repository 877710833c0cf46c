"""A tokio server with two worker threads.  The culprit: each request sleeps as a thread does, and
its worker runs no other task meanwhile."""
import pathlib
import subprocess
import tempfile

from steady import Steady

MANIFEST = """
[package]
name = "desk"
version = "0.1.0"
edition = "2021"
[dependencies]
tokio = { version = "1", features = ["rt-multi-thread", "net", "io-util"] }
[profile.release]
debug = 1
"""
PROGRAM = """
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn look_up(name: u8) -> u8 {
    std::thread::sleep(Duration::from_millis(20));
    name + 1
}

async fn answer(mut client: TcpStream) {
    let mut request = [0u8; 1];
    while client.read_exact(&mut request).await.is_ok() {
        let number = look_up(request[0]);
        if client.write_all(&[number]).await.is_err() {
            break;
        }
    }
}

async fn ask(port: u16) {
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut answer = [0u8; 1];
    loop {
        server.write_all(b"a").await.unwrap();
        server.read_exact(&mut answer).await.unwrap();
    }
}

fn main() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        let desk = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = desk.local_addr().unwrap().port();
        for _ in 0..6 {
            tokio::spawn(ask(port));
        }
        loop {
            let (client, _) = desk.accept().await.unwrap();
            tokio::spawn(answer(client));
        }
    });
}
"""
run = Steady()
folder = pathlib.Path(tempfile.gettempdir()) / "wallspy-desk"
(folder / "src").mkdir(parents=True, exist_ok=True)
(folder / "Cargo.toml").write_text(MANIFEST, encoding="utf-8")
(folder / "src/main.rs").write_text(PROGRAM, encoding="utf-8")
subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=folder, check=True)
run.watch(subprocess.Popen([folder / "target/release/desk"]), 0.3)
