(* What the theorems rest on: `Closed under the global context` is nothing. *)
Require Import Dmaverify.Move.
Print Assumptions accepts_sound.
Print Assumptions once_sound.
Print Assumptions aligned.
Print Assumptions divided.
Print Assumptions cut_nest.
