// Rust: threads, hash maps, a caught panic: compute THREADS
use std::collections::HashMap;
use std::io::Write;

fn part(number: u64) -> u64 {
    let mut value = number;
    let mut table: HashMap<String, u64> = HashMap::new();
    for k in 0..1_500_000u64 {
        value = value.wrapping_mul(31).wrapping_add(k);
        let sum = table.entry((k % 700).to_string()).or_insert(0);
        *sum = sum.wrapping_add(value);
    }
    value ^ table["77"]
}

fn main() {
    if let Ok(path) = std::env::var("COUNTED") {
        let mut mark = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(mark, "once").unwrap();
    }
    let threads: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    let handles: Vec<_> = (1..threads).map(|i| std::thread::spawn(move || part(i))).collect();
    let mut sum = part(0);
    for handle in handles {
        sum = sum.wrapping_add(handle.join().unwrap());
    }
    std::panic::set_hook(Box::new(|_| {}));
    let caught = std::panic::catch_unwind(|| panic!("thrown")).is_err();
    println!("{} {}", sum, caught);
    std::process::exit(12);
}
