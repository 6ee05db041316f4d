// Forgets a vector of strings, which Rust allows without `unsafe`.
fn main() {
    let kept: Vec<String> = (0..1000).map(|n| format!("line {n}")).collect();
    println!("{} lines kept", kept.len());
    std::mem::forget(kept);
}
