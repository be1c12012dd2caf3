; claim: Every unit > 0 and size >= 1: there is exactly one m with unit (m - 1) < size <= unit m, and it is (size - 1) /
;   unit + 1. So an n-byte packet makes ceil(n / 256) requests of 256 bytes.
; relied on by: dmaverify.cost.nest.windows
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; quotes: encodings/core/sequencer.smt2#core/parts
; tamper: (<= size (* unit parts)) ==> (<= size (* unit (+ parts 1)))
; tamper: (core/splits (- size 1) unit q r) ==> (core/splits size unit q r)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))
(define-fun core/parts ((size Int) (unit Int) (parts Int)) Bool
  (and (< (* unit (- parts 1)) size) (<= size (* unit parts))))

(declare-const size Int)
(declare-const unit Int)
(declare-const m Int)
(declare-const m2 Int)
(declare-const q Int)
(declare-const r Int)
(assert (< 0 unit))
(assert (<= 1 size))
(assert (core/parts size unit m))
(assert (core/splits (- size 1) unit q r))
(assert (not (and (core/parts size unit (+ q 1)) (= m (+ q 1)) (<= 1 m))))
(check-sat)
