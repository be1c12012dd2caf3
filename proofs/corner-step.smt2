; claim: Interval arithmetic of a box, one loop at a time, any stride and count: if the address so far lies in [low,
;   high], then with a loop of stride s it lies in [low, high + (n - 1) s] for s >= 0 and in [low + (n - 1) s, high] for
;   s < 0, and counters 0 and n - 1, which reach those corners, are in range. So the corner sums are the exact bounds of
;   a nest.
; relied on by: dmaverify.prove.move.obligations.nest_claims
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/sequencer.smt2#core/loop-step
; tamper: (core/loop-step high (- n 1) s) ==> (core/loop-step high (- n 2) s)
; tamper: (=> (< s 0) (<= (core/loop-step low (- n 1) s) ==> (=> (< s 0) (<= (core/loop-step low 0 s)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))

(declare-const low Int)
(declare-const high Int)
(declare-const address Int)
(declare-const n Int)
(declare-const s Int)
(declare-const c Int)
(assert (and (<= low address) (<= address high)))
(assert (core/in-range c n))
(assert (not (and
  (=> (<= 0 s) (<= low (core/loop-step address c s)))
  (=> (<= 0 s) (<= (core/loop-step address c s) (core/loop-step high (- n 1) s)))
  (=> (< s 0) (<= (core/loop-step low (- n 1) s) (core/loop-step address c s)))
  (=> (< s 0) (<= (core/loop-step address c s) high))
  (core/in-range 0 n)
  (core/in-range (- n 1) n))))
(check-sat)
