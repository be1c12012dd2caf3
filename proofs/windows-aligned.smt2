; claim: Every window size: a run that starts at the start of window f and ends in window l touches ceil(length / size)
;   windows, the packet's request count.
; relied on by: dmaverify.cost.nest.as_requests
; quotes: encodings/core/sequencer.smt2#core/parts
; quotes: encodings/core/sequencer.smt2#core/in-window
; quotes: encodings/core/sequencer.smt2#core/multiple
; tamper: (core/multiple first size f) ==> (core/in-window first size f)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/parts ((size Int) (unit Int) (parts Int)) Bool
  (and (< (* unit (- parts 1)) size) (<= size (* unit parts))))
(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))
(define-fun core/multiple ((value Int) (unit Int) (quotient Int)) Bool
  (= value (* unit quotient)))

(declare-const size Int)
(declare-const first Int)
(declare-const length Int)
(declare-const f Int)
(declare-const l Int)
(assert (and (< 0 size) (< 0 length)))
(assert (core/multiple first size f))
(assert (core/in-window (- (+ first length) 1) size l))
(assert (not (core/parts length size (+ (- l f) 1))))
(check-sat)
