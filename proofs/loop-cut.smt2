; claim: Cutting a loop p q : s into p : q s and q : s, for all counts and strides: every counter of the loop splits
;   into counters (h, l) that are in range, with the same address.
; relied on by: dmaverify.prove.move.script.ScriptWriter
; relied on by: dmaverify.layout.refine.cut_piece
; relied on by: dmaverify.layout.addresses.cut_digit
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; quotes: encodings/core/sequencer.smt2#core/loop-step
; quotes: encodings/core/sequencer.smt2#core/nest-address
; tamper: (core/nest-address base h (* q s) l s) ==> (core/nest-address base h (+ (* q s) 1) l s)
; tamper: (core/in-range c (* p q)) ==> (core/in-range c (+ (* p q) 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))
(define-fun core/nest-address ((base Int) (outer Int) (outer_stride Int) (inner Int) (inner_stride Int)) Int
  (core/loop-step (core/loop-step base outer outer_stride) inner inner_stride))

(declare-const base Int)
(declare-const p Int)
(declare-const q Int)
(declare-const s Int)
(declare-const c Int)
(declare-const h Int)
(declare-const l Int)
(assert (core/in-range c (* p q)))
(assert (core/splits c q h l))
(assert (not (and
  (core/in-range h p)
  (core/in-range l q)
  (= (core/loop-step base c s) (core/nest-address base h (* q s) l s)))))
(check-sat)
