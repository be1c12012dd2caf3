"""Rust kernels as plans: every DMA transfer of a `.rs` file, with the place in the file where it is written.

Knows: its parts, from text to plan: `code` (trees and spans), `module` (items and names), `crate` (files), `values`
(types of tensors), `numbers` (constants), `mapping` (`m![...]`), `types`, `views`, `calls`, `bodies`, `plans`.
Does not know: how a transfer is judged.
Law: every call of a transfer in a file becomes a transfer of the plan, or is reported with the reason at its line.
"""
