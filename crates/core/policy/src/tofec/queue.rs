/// How long the request queue is when lane time has this price, on this many lanes: equations
/// (10)–(12).
///
/// The pool is one server with the rate of all lanes, Q = ρ²/(1−ρ). The price of lane time is dQ/du
/// for a load of u lanes (Little's law: the queueing delay of all requests together); at the
/// optimum it equals the gain g.
pub(super) fn length(gain: f64, lanes: f64) -> f64 {
    let s = libm::sqrt(1.0 + lanes * gain);
    s - 2.0 + 1.0 / s
}
