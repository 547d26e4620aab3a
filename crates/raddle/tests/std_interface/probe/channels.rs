//! `lib::sync::mpsc`.

use std::time::Duration;

use super::lib::sync::mpsc::{
    self, IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender,
    TryIter, TryRecvError, TrySendError,
};
use super::{Seen, is_debug, is_error, is_send, is_sync, is_unpin, see};

pub(super) fn run(seen: &mut Seen) {
    is_send::<Sender<u32>>();
    is_sync::<Sender<u32>>();
    is_send::<SyncSender<u32>>();
    is_sync::<SyncSender<u32>>();
    is_send::<Receiver<u32>>();
    is_unpin::<Receiver<u32>>();
    is_debug::<Sender<u32>>();
    is_debug::<SyncSender<u32>>();
    is_debug::<Receiver<u32>>();
    is_debug::<Iter<'_, u32>>();
    is_debug::<TryIter<'_, u32>>();
    is_debug::<IntoIter<u32>>();
    is_error::<SendError<u32>>();
    let (sender, receiver) = mpsc::channel();
    see!(seen, receiver.try_recv() == Err(TryRecvError::Empty));
    sender.send(1).expect("there is a receiver");
    sender.clone().send(2).expect("there is a receiver");
    see!(seen, receiver.recv(), receiver.recv_timeout(Duration::MAX));
    sender.send(3).expect("there is a receiver");
    see!(seen, receiver.try_iter().collect::<Vec<_>>());
    sender.send(4).expect("there is a receiver");
    drop(sender);
    see!(seen, receiver.iter().collect::<Vec<_>>());
    see!(seen, (&receiver).into_iter().next());
    see!(
        seen,
        receiver.recv() == Err(RecvError),
        receiver.recv_timeout(Duration::ZERO) == Err(RecvTimeoutError::Disconnected),
        receiver.into_iter().next(),
    );
    let (sender, receiver) = mpsc::sync_channel(1);
    see!(
        seen,
        sender.send(1),
        sender.try_send(2) == Err(TrySendError::Full(2)),
        sender.clone().try_send(3),
    );
    drop(receiver);
    see!(seen, sender.send(4) == Err(SendError(4)));
    see!(
        seen,
        sender.try_send(5) == Err(TrySendError::Disconnected(5))
    );
}
