//! The thread that compiles: one with a large stack, replaced now and then.
//!
//! Everything parsed stays in a source map of its thread, a few hundred kilobytes a compile,
//! until the thread ends. So a thread serves a bounded number of compiles; its successor is
//! started at once and parses cutile's modules while nobody waits.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::frontend::Frontend;
use crate::locate::locate;
use crate::panics;
use crate::port::Port;
use crate::request::{Answer, Diagnostic, Place, Report, Request, Source};

/// Reserved, not used, unless the text is nested deeply.
const STACK_BYTES: usize = 256 << 20;
/// Compiles per thread: about 20 MB of source map.
const SERVES: usize = 64;

struct Job {
    request: Request,
    answer: SyncSender<Answer>,
}

static THREAD: Mutex<Option<(SyncSender<Job>, usize)>> = Mutex::new(None);

/// Compiles one request; calls from several threads take turns.
pub fn compile(request: Request) -> Answer {
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    let (answer, answered) = sync_channel(1);
    let (jobs, served) = match thread.take() {
        Some(running) => running,
        None => match start() {
            Ok(jobs) => (jobs, 0),
            Err(error) => return failed(&format!("no thread to compile in: {error}")),
        },
    };
    if jobs.send(Job { request, answer }).is_err() {
        return failed("the compile thread ended");
    }
    let Ok(answer) = answered.recv() else {
        return failed("the compile thread ended");
    };
    if served + 1 < SERVES {
        *thread = Some((jobs, served + 1));
    } else {
        drop(jobs);
        *thread = start().ok().map(|jobs| (jobs, 0));
    }
    answer
}

/// Starts the thread if it does not run, so that it is warm when the first request comes.
pub fn warm() {
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if thread.is_none() {
        *thread = start().ok().map(|jobs| (jobs, 0));
    }
}

fn start() -> std::io::Result<SyncSender<Job>> {
    let (jobs, queue) = sync_channel(1);
    thread::Builder::new()
        .name("tileport-compile".to_string())
        .stack_size(STACK_BYTES)
        .spawn(move || serve(&queue))?;
    Ok(jobs)
}

fn serve(queue: &Receiver<Job>) {
    let frontend = Frontend::warm();
    for job in queue {
        let answer = panics::catch(|| answer(&frontend, &job.request))
            .unwrap_or_else(|message| failed(&format!("internal error: {message}")));
        // Whoever asked may be gone.
        let _ = job.answer.send(answer);
    }
}

fn answer(frontend: &Frontend, request: &Request) -> Answer {
    let start = Instant::now();
    let mut answer = Answer::default();
    let port = Port::read(request);
    let milliseconds = &mut answer.report.milliseconds;
    milliseconds.insert("parse", start.elapsed().as_secs_f64() * 1e3);
    let port = match port {
        Ok(port) => port,
        Err(diagnostic) => {
            answer.report.diagnostics.push(diagnostic);
            return answer;
        }
    };
    match frontend.compile(&port.module, request) {
        Ok(compiled) => {
            milliseconds.insert("compile", compiled.compile_milliseconds);
            milliseconds.insert("write", compiled.write_milliseconds);
            answer.bytecode = Some(compiled.bytecode);
        }
        Err(failure) => {
            milliseconds.insert("compile", start.elapsed().as_secs_f64() * 1e3);
            let place = locate(frontend, &port, request, &failure);
            let message = failure.message;
            answer.report.diagnostics.push(Diagnostic {
                message,
                place,
                source: Source::Frontend,
            });
        }
    }
    answer
}

fn failed(message: &str) -> Answer {
    let diagnostic = Diagnostic {
        message: message.to_string(),
        place: Place { line: 1, column: 1 },
        source: Source::Frontend,
    };
    Answer {
        bytecode: None,
        report: Report {
            diagnostics: vec![diagnostic],
            ..Report::default()
        },
    }
}
