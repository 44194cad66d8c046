//! Other threads, and their results for the loop to find: a queue, and a descriptor
//! that is readable while something may be in it.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A queue with a descriptor.
#[derive(Debug)]
pub struct Mailbox<T> {
    letters: Mutex<Vec<T>>,
    bell: OwnedFd,
}

impl<T> Mailbox<T> {
    /// An empty one.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { letters: Mutex::new(Vec::new()), bell })
    }

    /// Puts something in.
    pub fn post(&self, letter: T) {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).push(letter);
        // Fails only when it is readable already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Takes everything out.
    pub fn take(&self) -> Vec<T> {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *self.letters.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A thread that is asked things, and answers by a mailbox.
#[derive(Debug)]
pub struct Clerk<Q, A> {
    questions: Sender<Q>,
    answers: Arc<Mailbox<A>>,
}

impl<Q: Send + 'static, A: Send + 'static> Clerk<Q, A> {
    /// Begins a thread that does this until there is nobody to ask any more.
    ///
    /// # Errors
    /// When the system has no descriptor or no thread left.
    pub fn begin(
        name: &str,
        work: impl FnOnce(&Receiver<Q>, &Mailbox<A>) + Send + 'static,
    ) -> io::Result<Self> {
        let (questions, asked) = mpsc::channel();
        let answers = Arc::new(Mailbox::new()?);
        let to = Arc::clone(&answers);
        thread::Builder::new().name(name.into()).spawn(move || work(&asked, &to))?;
        Ok(Self { questions, answers })
    }

    /// Asks something.
    pub fn ask(&self, question: Q) {
        // The thread lives as long as this does.
        let _ = self.questions.send(question);
    }

    /// Where its answers are.
    pub fn mailbox(&self) -> &Mailbox<A> {
        &self.answers
    }
}

impl<T> AsFd for Mailbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
