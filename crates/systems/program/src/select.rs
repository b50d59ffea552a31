//! Waiting for several futures at once. Other crates' combinators work too.

use std::pin::pin;
use std::task::Poll;

/// The output of the first of two futures that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The left future was ready. It takes precedence if both are.
    Left(A),
    /// The right future was ready.
    Right(B),
}

/// Waits for the first of two futures that is ready, and drops the other.
pub async fn select<A: Future, B: Future>(left: A, right: B) -> Either<A::Output, B::Output> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    std::future::poll_fn(|context| {
        if let Poll::Ready(output) = left.as_mut().poll(context) {
            return Poll::Ready(Either::Left(output));
        }
        right.as_mut().poll(context).map(Either::Right)
    })
    .await
}

/// Waits for the first of several futures that is ready, and removes it from the list. Returns its place
/// there, and its output. Of several that are ready, the first of the list counts. The others go on.
///
/// # Panics
///
/// If there is no future.
pub async fn any<F: Future + Unpin>(futures: &mut Vec<F>) -> (usize, F::Output) {
    assert!(!futures.is_empty(), "no future is left to wait for");
    std::future::poll_fn(|context| {
        let ready = futures.iter_mut().enumerate().find_map(|(place, future)| match pin!(future).poll(context) {
            Poll::Ready(output) => Some((place, output)),
            Poll::Pending => None,
        });
        let Some((place, output)) = ready else { return Poll::Pending };
        drop(futures.remove(place));
        Poll::Ready((place, output))
    })
    .await
}

/// Waits for all futures. Returns their outputs in the order of the futures.
pub async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Some(Box::pin(future)), None)).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, output) in &mut running {
            let Some(code) = future else { continue };
            match code.as_mut().poll(context) {
                Poll::Ready(result) => (*future, *output) = (None, Some(result)),
                Poll::Pending => pending = true,
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}
