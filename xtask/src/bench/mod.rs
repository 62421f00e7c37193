//! Benchmarks: commands, not timed tests. Each runs ours and the machine's own limits in the same run.

pub(crate) mod bare_http;
mod bare_postgres;
mod bed;
mod connection;
pub(crate) mod console;
pub(crate) mod cycle;
pub(crate) mod gateway;
mod held;
pub(crate) mod hold;
pub(crate) mod hook;
mod limits;
mod load;
pub(crate) mod peers;
mod server;

/// The value below which `share` of the samples lie.
fn percentile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let index = (samples.len() as f64 * share) as usize;
    samples.get(index.min(samples.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn median(mut samples: Vec<f64>) -> f64 {
    percentile(&mut samples, 0.5)
}

/// As many digits as mean something.
fn rounded(value: f64, digits: i32) -> f64 {
    (value * 10f64.powi(digits)).round() / 10f64.powi(digits)
}
