; claim: Every word: what lies between the start of word q and the start of word e touches no word before q and none
;   from e on, at most e - q in all. A window of 256 words keeps AXI's 256 beats, one of 2^max_llen words the request's
;   own limit.
; relied on by: dmaverify.machines.idma.legalizer.window_bits
; quotes: encodings/core/sequencer.smt2#core/in-window
; tamper: (< last (* word e)) ==> (< last (* word (+ e 1)))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))

(declare-const a Int)
(declare-const last Int)
(declare-const word Int)
(declare-const q Int)
(declare-const e Int)
(declare-const i Int)
(declare-const j Int)
(assert (and (< 0 word) (<= a last)))
(assert (and (<= (* word q) a) (< last (* word e))))
(assert (core/in-window a word i))
(assert (core/in-window last word j))
(assert (not (and (<= q i) (< j e))))
(check-sat)
