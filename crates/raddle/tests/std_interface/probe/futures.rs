//! `lib::future` and `lib::task`.

use std::pin::{Pin, pin};

use super::lib::future::{
    Future, IntoFuture, Pending, PollFn, Ready, pending, poll_fn, ready as ready_with,
};
use super::lib::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker, ready};
use super::{Seen, is_unpin, see};

/// Is ready when it is polled again.
struct Later(bool);

impl Future for Later {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        if self.0 {
            return Poll::Ready(3);
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

fn twice(context: &mut Context<'_>, later: Pin<&mut Later>) -> Poll<u32> {
    let value = ready!(later.poll(context));
    Poll::Ready(value * 2)
}

pub(super) fn run(seen: &mut Seen) {
    is_unpin::<Pending<u32>>();
    is_unpin::<Ready<u32>>();
    is_unpin::<Waker>();
    fn is_future<F: Future<Output = u32>>(_: &F) {}
    is_future(&pending());
    is_future(&ready_with(1));
    fn is_made_of_function<F>(_: &PollFn<F>) {}
    is_made_of_function(&poll_fn(|_| Poll::Ready(1)));
    let mut context = Context::from_waker(Waker::noop());
    let mut later = pin!(Later(false));
    see!(
        seen,
        twice(&mut context, later.as_mut()),
        twice(&mut context, later)
    );
    let mut both = pin!(async { ready_with(4).await + poll_fn(|_| Poll::Ready(5)).await });
    see!(seen, both.as_mut().poll(&mut context));
    see!(seen, pin!(Later(true).into_future()).poll(&mut context));
    let _: fn(*const (), &'static RawWakerVTable) -> RawWaker = RawWaker::new;
    fn wakes<W: Wake>() {}
    let _ = wakes::<Nothing>;
}

struct Nothing;

impl Wake for Nothing {
    fn wake(self: std::sync::Arc<Self>) {}
}
