use core::fmt::Debug;

/// What decides a sample: a sequence of throws, each of the kind the model asks for.
pub trait Luck: Debug {
    /// Uniform between 0 and 1, neither of which it ever is.
    fn uniform(&mut self) -> f64;

    /// Normal with mean 0 and deviation 1.
    fn normal(&mut self) -> f64;

    /// Exponential with mean 1; never 0.
    fn exponential(&mut self) -> f64;
}
