//! Prompts and messages that wait for a run: steering after a turn, follow-ups at the end (pi-host.md 1.5).

use std::collections::VecDeque;

use serde_json::{Value, json};

/// The two queues. Each gives one message at a time, unless the user wants all of them at once.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    steer_all: bool,
    follow_up_all: bool,
    steering: VecDeque<Value>,
    follow_ups: VecDeque<Value>,
    /// The texts that the person queued, as the client is shown them.
    steering_texts: Vec<String>,
    follow_up_texts: Vec<String>,
}

impl Queue {
    /// Empty queues; each flag says whether a turn takes all that wait in one.
    pub(crate) fn new(steer_all: bool, follow_up_all: bool) -> Self {
        Self {
            steer_all,
            follow_up_all,
            ..Self::default()
        }
    }

    pub(crate) fn push_steering(&mut self, message: Value) {
        self.steering.push_back(message);
    }

    pub(crate) fn push_follow_up(&mut self, message: Value) {
        self.follow_ups.push_back(message);
    }

    pub(crate) fn note_steering(&mut self, text: &str) {
        self.steering_texts.push(text.to_owned());
    }

    pub(crate) fn note_follow_up(&mut self, text: &str) {
        self.follow_up_texts.push(text.to_owned());
    }

    pub(crate) fn take_steering(&mut self) -> Vec<Value> {
        taken(&mut self.steering, self.steer_all)
    }

    pub(crate) fn take_follow_up(&mut self) -> Vec<Value> {
        taken(&mut self.follow_ups, self.follow_up_all)
    }

    pub(crate) fn len(&self) -> usize {
        self.steering.len() + self.follow_ups.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What would be delivered next.
    pub(crate) fn next(&self) -> Vec<Value> {
        let (queue, all) = if self.steering.is_empty() {
            (&self.follow_ups, self.follow_up_all)
        } else {
            (&self.steering, self.steer_all)
        };
        let count = if all { queue.len() } else { 1 };
        queue.iter().take(count).cloned().collect()
    }

    /// A queued prompt is being delivered; says whether the text was one.
    pub(crate) fn delivered(&mut self, text: &str) -> bool {
        for texts in [&mut self.steering_texts, &mut self.follow_up_texts] {
            if let Some(index) = texts.iter().position(|known| known == text) {
                texts.remove(index);
                return true;
            }
        }
        false
    }

    /// Number of the person's prompts that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.steering_texts.len() + self.follow_up_texts.len()
    }

    /// Empties both queues and gives the person's texts.
    pub(crate) fn clear(&mut self) -> Value {
        self.steering.clear();
        self.follow_ups.clear();
        let texts = self.texts();
        self.steering_texts.clear();
        self.follow_up_texts.clear();
        texts
    }

    /// The person's texts that wait.
    pub(crate) fn texts(&self) -> Value {
        json!({"steering": self.steering_texts, "followUp": self.follow_up_texts})
    }

    /// The record that tells the client.
    pub(crate) fn update(&self) -> Value {
        json!({"type": "queue_update", "steering": self.steering_texts, "followUp": self.follow_up_texts})
    }
}

fn taken(queue: &mut VecDeque<Value>, all: bool) -> Vec<Value> {
    let count = if all { queue.len() } else { queue.len().min(1) };
    queue.drain(..count).collect()
}
