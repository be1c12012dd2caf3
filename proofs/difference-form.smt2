; claim: Every count and stride, one loop at a time: two counters of a loop differ by an e in the open box (-n, n) that
;   is 0 iff they are equal, and moves their addresses apart by e s. Conversely every such e is the difference of two
;   counters in range: max(e, 0) and max(-e, 0). So a nest collides iff some nonzero difference vector in the box has
;   weighted sum 0 (exact where no guard cuts the box).
; relied on by: dmaverify.prove.move.obligations.once_claim
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/sequencer.smt2#core/loop-step
; quotes: encodings/core/sequencer.smt2#core/difference
; tamper: (and (< (- count) difference) (< difference count)) ==> (and (<= (- count) difference) (<= difference count))
; tamper: (core/difference (- c c2) n) ==> (core/difference (- c c2) (- n 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))
(define-fun core/difference ((difference Int) (count Int)) Bool
  (and (< (- count) difference) (< difference count)))

(declare-const n Int)
(declare-const s Int)
(declare-const c Int)
(declare-const c2 Int)
(declare-const a Int)
(declare-const a2 Int)
(declare-const e Int)
(assert (core/in-range c n))
(assert (core/in-range c2 n))
(assert (core/difference e n))
(assert (not (and
  (core/difference (- c c2) n)
  (= (= (- c c2) 0) (= c c2))
  (= (- (core/loop-step a c s) (core/loop-step a2 c2 s)) (core/loop-step (- a a2) (- c c2) s))
  (core/in-range (ite (< e 0) 0 e) n)
  (core/in-range (ite (< e 0) (- e) 0) n)
  (= (- (ite (< e 0) 0 e) (ite (< e 0) (- e) 0)) e))))
(check-sat)
