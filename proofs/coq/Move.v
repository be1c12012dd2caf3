(* Moves of tensors, over the integers: what mappings, sequencers and moves are, and a checker that is sound for them.

   The definitions follow the documents: a mapping gives a cell at a position, one case a constructor; a command walks
   its loops and copies; the destination then holds the tensor. The theorem at the end: what `accepts` accepts does so,
   for every byte, whatever the memories held before. No axioms: see Printed.v. *)

Require Import ZArith List Lia Bool.
Import ListNotations.
Open Scope Z_scope.

(* ---------------------------------------------------------------- sums of counters *)

Fixpoint dot (ks cs : list Z) : Z :=
  match ks, cs with k :: ks', c :: cs' => k * c + dot ks' cs' | _, _ => 0 end.

Fixpoint inbox (ns cs : list Z) : Prop :=
  match ns, cs with
  | [], [] => True
  | n :: ns', c :: cs' => 0 <= c < n /\ inbox ns' cs'
  | _, _ => False
  end.

Definition form := (Z * list Z)%type.
Definition ev (f : form) (c : list Z) : Z := fst f + dot (snd f) c.

Fixpoint lo (ns ks : list Z) : Z :=
  match ns, ks with n :: ns', k :: ks' => Z.min 0 (k * (n - 1)) + lo ns' ks' | _, _ => 0 end.
Fixpoint hi (ns ks : list Z) : Z :=
  match ns, ks with n :: ns', k :: ks' => Z.max 0 (k * (n - 1)) + hi ns' ks' | _, _ => 0 end.

(* T2, first half: a sum of counters is bounded by its corners, each counter by itself. *)
Theorem corners : forall ns cs ks, inbox ns cs -> lo ns ks <= dot ks cs <= hi ns ks.
Proof.
  induction ns as [|n ns IH]; intros [|c cs] [|k ks] H; simpl in *; try lia; try contradiction.
  destruct H as [Hc H]. specialize (IH cs ks H).
  assert (Z.min 0 (k * (n - 1)) <= k * c <= Z.max 0 (k * (n - 1))).
  { destruct (Z.le_gt_cases 0 k) as [K|K].
    - rewrite Z.min_l, Z.max_r by nia. nia.
    - rewrite Z.min_r, Z.max_l by nia. nia. }
  lia.
Qed.

Definition range (ns : list Z) (f : form) (n : Z) : bool :=
  (0 <=? fst f + lo ns (snd f)) && (fst f + hi ns (snd f) <? n).

Lemma range_ok : forall ns f n c, inbox ns c -> range ns f n = true -> 0 <= ev f c < n.
Proof.
  intros ns f n c H R. unfold range in R. apply andb_prop in R. destruct R as [A B].
  apply Z.leb_le in A. apply Z.ltb_lt in B. pose proof (corners ns c (snd f) H). unfold ev. lia.
Qed.

Definition quo (s : Z) (f : form) : form :=
  (fst f / s, map (fun k => if k mod s =? 0 then k / s else 0) (snd f)).
Definition rem (s : Z) (f : form) : form :=
  (fst f mod s, map (fun k => if k mod s =? 0 then 0 else k) (snd f)).

Lemma quo_rem : forall s f c, 0 < s -> ev f c = s * ev (quo s f) c + ev (rem s f) c.
Proof.
  intros s [k0 ks] c Hs. unfold ev, quo, rem. simpl fst. simpl snd.
  assert (D : dot ks c = s * dot (map (fun k => if k mod s =? 0 then k / s else 0) ks) c
              + dot (map (fun k => if k mod s =? 0 then 0 else k) ks) c).
  { revert c. induction ks as [|k ks IH]; intros [|x c]; simpl; try lia.
    rewrite (IH c). destruct (k mod s =? 0) eqn:E.
    - apply Z.eqb_eq in E. pose proof (Z.div_mod k s ltac:(lia)). nia.
    - lia. }
  pose proof (Z.div_mod k0 s ltac:(lia)). rewrite D. lia.
Qed.

(* T3: quotient and remainder of a sum are sums, where the rest stays within the divisor: Euclid. *)
Theorem divided : forall ns s f c, 0 < s -> inbox ns c -> range ns (rem s f) s = true ->
  ev f c / s = ev (quo s f) c /\ ev f c mod s = ev (rem s f) c.
Proof.
  intros ns s f c Hs H R. pose proof (range_ok _ _ _ _ H R) as B. pose proof (quo_rem s f c Hs) as Q.
  split; symmetry.
  - apply Z.div_unique with (r := ev (rem s f) c); lia.
  - apply Z.mod_unique with (q := ev (quo s f) c); lia.
Qed.

Definition scale (k : Z) (f : form) : form := (k * fst f, map (Z.mul k) (snd f)).
Lemma scale_ok : forall k f c, ev (scale k f) c = k * ev f c.
Proof.
  intros k [f0 fs] c. unfold ev, scale. simpl fst. simpl snd.
  assert (D : dot (map (Z.mul k) fs) c = k * dot fs c).
  { revert c. induction fs as [|x fs IH]; intros [|y c]; simpl; try lia. rewrite IH. lia. }
  lia.
Qed.

Fixpoint plus_list (a b : list Z) : list Z :=
  match a, b with
  | x :: a', y :: b' => (x + y) :: plus_list a' b'
  | [], _ => b
  | _, [] => a
  end.
Definition plus (f g : form) : form := (fst f + fst g, plus_list (snd f) (snd g)).
Lemma plus_ok : forall f g c, ev (plus f g) c = ev f c + ev g c.
Proof.
  intros [f0 fs] [g0 gs] c. unfold ev, plus. simpl fst. simpl snd.
  assert (D : dot (plus_list fs gs) c = dot fs c + dot gs c).
  { revert gs c. induction fs as [|x fs IH]; intros [|y gs] [|z c]; simpl; try lia. rewrite IH. lia. }
  lia.
Qed.

Fixpoint zeros (ks : list Z) : bool := match ks with [] => true | k :: ks' => (k =? 0) && zeros ks' end.
Definition is_zero (f : form) : bool := (fst f =? 0) && zeros (snd f).
Lemma is_zero_ok : forall f c, is_zero f = true -> ev f c = 0.
Proof.
  intros [f0 fs] c H. unfold is_zero in H. simpl in H. apply andb_prop in H. destruct H as [A B].
  apply Z.eqb_eq in A. unfold ev. simpl.
  assert (D : dot fs c = 0).
  { revert c. induction fs as [|k fs IH]; intros [|x c]; simpl in *; try lia.
    apply andb_prop in B. destruct B as [K B]. apply Z.eqb_eq in K. rewrite (IH B). nia. }
  lia.
Qed.

(* T5: sums with the same coefficients are equal for all counters. *)
Definition same (f g : form) : bool := is_zero (plus f (scale (-1) g)).
Theorem same_ok : forall f g c, same f g = true -> ev f c = ev g c.
Proof.
  intros f g c H. unfold same in H. pose proof (is_zero_ok _ c H) as Z0.
  rewrite plus_ok, scale_ok in Z0. lia.
Qed.

(* ---------------------------------------------------------------- mappings *)

Inductive mapping :=
  | Axis (a n : Z)
  | Copies (n : Z)
  | Stride (m : mapping) (k : Z)      (* e / k *)
  | First (m : mapping) (k : Z)       (* e % k, e = k up to its size *)
  | Padded (m : mapping) (n : Z)      (* e # n *)
  | Pair (l r : mapping).

Fixpoint size (m : mapping) : Z :=
  match m with
  | Axis _ n => n
  | Copies n => n
  | Stride m k => size m / k
  | First _ k => k
  | Padded _ n => n
  | Pair l r => size l * size r
  end.

Definition coords := Z -> Z.  (* the coordinate of each axis *)
Definition none : coords := fun _ => 0.
Definition single (a v : Z) : coords := fun x => if x =? a then v else 0.
Definition both (x y : coords) : coords := fun a => x a + y a.
Definition joined (x y : option coords) : option coords :=
  match x, y with Some x, Some y => Some (both x y) | _, _ => None end.

(* The cell at a position: coordinates, or nothing where there is padding or no position. *)
Fixpoint cell (m : mapping) (p : Z) : option coords :=
  if (0 <=? p) && (p <? size m) then
    match m with
    | Axis a _ => Some (single a p)
    | Copies _ => Some none
    | Stride m k => cell m (p * k)
    | First m _ => cell m (p mod size m)
    | Padded m _ => if p <? size m then cell m p else None
    | Pair l r => joined (cell l (p / size r)) (cell r (p mod size r))
    end
  else None.

(* Coordinates as sums: contributions of axes. *)
Definition part := (Z * form)%type.
Fixpoint coordinate (a : Z) (l : list part) : form :=
  match l with [] => (0, []) | (b, f) :: l' => if b =? a then plus f (coordinate a l') else coordinate a l' end.

Lemma coordinate_app : forall a l r c, ev (coordinate a (l ++ r)) c = ev (coordinate a l) c + ev (coordinate a r) c.
Proof.
  induction l as [|[b f] l IH]; intros r c; simpl.
  - unfold ev. simpl. lia.
  - destruct (b =? a); [rewrite !plus_ok|]; rewrite IH; lia.
Qed.

(* A sum that may reach a bound leaves a guard: at or above it there is no cell. *)
Definition guards := list (form * Z).
Definition met (g : guards) (c : list Z) : Prop := Forall (fun x => ev (fst x) c < snd x) g.
Definition up (ns : list Z) (f : form) (n : Z) : guards :=
  if fst f + hi ns (snd f) <? n then [] else [(f, n)].

Lemma up_ok : forall ns c f n, inbox ns c -> (met (up ns f n) c <-> ev f c < n).
Proof.
  intros ns c f n H. unfold up, met. destruct (fst f + hi ns (snd f) <? n) eqn:E.
  - apply Z.ltb_lt in E. pose proof (corners ns c (snd f) H). split; intros _; [unfold ev; lia|constructor].
  - split; intros M; [inversion M; assumption|constructor; [exact M|constructor]].
Qed.

Definition more (g : guards) (x : option (list part * guards)) : option (list part * guards) :=
  match x with Some (l, h) => Some (l, g ++ h) | None => None end.
Definition merged (x y : option (list part * guards)) : option (list part * guards) :=
  match x, y with Some (l, g), Some (r, h) => Some (l ++ r, g ++ h) | _, _ => None end.

Fixpoint scell (ns : list Z) (m : mapping) (f : form) : option (list part * guards) :=
  if 0 <=? fst f + lo ns (snd f) then
    more (up ns f (size m))
    match m with
    | Axis a _ => Some ([(a, f)], [])
    | Copies _ => Some ([], [])
    | Stride m k => scell ns m (scale k f)
    | First m k => if k <=? size m then scell ns m f else None
    | Padded m _ => more (up ns f (size m)) (scell ns m f)
    | Pair l r =>
        if (0 <? size r) && range ns (rem (size r) f) (size r)
        then merged (scell ns l (quo (size r) f)) (scell ns r (rem (size r) f)) else None
    end
  else None.

Definition tells (c : list Z) (l : list part) (g : guards) (x : option coords) : Prop :=
  (met g c -> exists co, x = Some co /\ forall a, co a = ev (coordinate a l) c) /\
  ((exists co, x = Some co) -> met g c).

Lemma met_app : forall g h c, met (g ++ h) c <-> met g c /\ met h c.
Proof. intros. unfold met. apply Forall_app. Qed.

Lemma tells_merged : forall c l g x r h y, tells c l g x -> tells c r h y ->
  tells c (l ++ r) (g ++ h) (joined x y).
Proof.
  intros c l g x r h y [A B] [C D]. split.
  - intros M. apply met_app in M. destruct M as [M N]. destruct (A M) as [cx [Ex Fx]]. destruct (C N) as [cy [Ey Fy]].
    subst. simpl. eexists. split; [reflexivity|]. intros a. unfold both. rewrite coordinate_app, Fx, Fy. reflexivity.
  - intros [co E]. destruct x as [cx|]; [|discriminate]. destruct y as [cy|]; [|discriminate].
    apply met_app. split; [apply B|apply D]; eexists; reflexivity.
Qed.

Lemma ranged : forall ns c f n l g x, inbox ns c -> 0 <= ev f c -> tells c l g x ->
  tells c l (up ns f n ++ g) (if (0 <=? ev f c) && (ev f c <? n) then x else None).
Proof.
  intros ns c f n l g x H B [P Q]. pose proof (up_ok ns c f n H) as U. split.
  - intros M. apply met_app in M. destruct M as [M N]. apply U in M.
    replace ((0 <=? ev f c) && (ev f c <? n)) with true
      by (symmetry; apply andb_true_intro; split; [apply Z.leb_le|apply Z.ltb_lt]; lia). auto.
  - intros [co E]. destruct ((0 <=? ev f c) && (ev f c <? n)) eqn:T; [|discriminate].
    apply andb_prop in T. destruct T as [_ T]. apply Z.ltb_lt in T.
    apply met_app. split; [apply U; exact T|apply Q; eexists; exact E].
Qed.

Lemma more_some : forall g x l h, more g x = Some (l, h) -> exists h', x = Some (l, h') /\ h = g ++ h'.
Proof. intros g [[l0 h0]|] l h E; [|discriminate]. injection E as <- <-. exists h0. auto. Qed.

Theorem scell_ok : forall ns c m f l g, inbox ns c -> scell ns m f = Some (l, g) -> tells c l g (cell m (ev f c)).
Proof.
  intros ns c m. induction m as [a n|n|m IH k|m IH k|m IH n|x IHx y IHy]; intros f l g H S; simpl in S;
    (destruct (0 <=? fst f + lo ns (snd f)) eqn:R; [|discriminate]);
    apply Z.leb_le in R; pose proof (corners ns c (snd f) H) as K;
    (assert (B : 0 <= ev f c) by (unfold ev; lia)); clear R K;
    try (apply more_some in S; destruct S as [g0 [S ->]]); simpl.
  - injection S as <- <-. apply ranged; auto. split; [|intros _; constructor]. intros _. eexists. split; [reflexivity|].
    intros b. unfold single. simpl. rewrite Z.eqb_sym. destruct (a =? b); [rewrite plus_ok|]; unfold ev; simpl; lia.
  - injection S as <- <-. apply ranged; auto. split; [|intros _; constructor]. intros _. eexists. split; [reflexivity|].
    intros b. unfold none, ev. simpl. lia.
  - apply ranged; auto. specialize (IH _ _ _ H S). rewrite scale_ok in IH. rewrite Z.mul_comm. exact IH.
  - destruct (k <=? size m) eqn:L; [|discriminate]. apply Z.leb_le in L. specialize (IH _ _ _ H S).
    pose proof (ranged ns c f k _ _ _ H B IH) as W. destruct (ev f c <? k) eqn:T.
    + apply Z.ltb_lt in T. rewrite Z.mod_small by lia. exact W.
    + rewrite andb_false_r in *. exact W.
  - apply more_some in S. destruct S as [g1 [S ->]]. specialize (IH _ _ _ H S). apply ranged; auto.
    pose proof (ranged ns c f (size m) _ _ _ H B IH) as W.
    replace (0 <=? ev f c) with true in W by (symmetry; apply Z.leb_le; lia). exact W.
  - destruct ((0 <? size y) && range ns (rem (size y) f) (size y)) eqn:E; [|discriminate].
    apply andb_prop in E. destruct E as [P E]. apply Z.ltb_lt in P.
    destruct (divided ns (size y) f c P H E) as [Q M].
    destruct (scell ns x (quo (size y) f)) as [[lx gx]|] eqn:Sx; [|discriminate].
    destruct (scell ns y (rem (size y) f)) as [[ly gy]|] eqn:Sy; [|discriminate].
    simpl in S. injection S as <- <-. apply ranged; auto. rewrite Q, M.
    apply tells_merged; [apply IHx|apply IHy]; assumption.
Qed.

(* ---------------------------------------------------------------- tensors in memory *)

(* Places from the outermost (chip, cluster, slice) to the element and the byte in it: a mapping and a distance each. *)
Definition tensor := list (mapping * Z).
Definition sizes_of (t : tensor) : list Z := map (fun x => size (fst x)) t.
Definition strides_of (t : tensor) : list Z := map snd t.

Fixpoint tcell (t : tensor) (ps : list Z) : option coords :=
  match t, ps with
  | [], [] => Some none
  | (m, _) :: t', p :: ps' => joined (cell m p) (tcell t' ps')
  | _, _ => None
  end.

(* T2, second half: where each distance is at least the span of what lies below, positions are unique. *)
Fixpoint ladder (t : tensor) : bool :=
  match t with
  | [] => true
  | (_, s) :: t' => (0 <? s) && (hi (sizes_of t') (strides_of t') <? s) && ladder t' && forallb (fun x => 0 <? snd x) t'
  end.

Lemma nonneg : forall t ps, forallb (fun x : mapping * Z => 0 <? snd x) t = true -> inbox (sizes_of t) ps ->
  0 <= dot (strides_of t) ps.
Proof.
  induction t as [|[m s] t IH]; intros [|p ps] P H; simpl in *; try lia; try contradiction.
  apply andb_prop in P. destruct P as [S P]. apply Z.ltb_lt in S. destruct H as [B H].
  specialize (IH ps P H). nia.
Qed.

Theorem ladder_unique : forall t ps qs, ladder t = true -> inbox (sizes_of t) ps -> inbox (sizes_of t) qs ->
  dot (strides_of t) ps = dot (strides_of t) qs -> ps = qs.
Proof.
  induction t as [|[m s] t IH]; intros [|p ps] [|q qs] L P Q E; simpl in *; try contradiction; [reflexivity|].
  destruct P as [_ P]. destruct Q as [_ Q].
  apply andb_prop in L. destruct L as [L G]. apply andb_prop in L. destruct L as [L1 L2].
  apply andb_prop in L1. destruct L1 as [S W]. apply Z.ltb_lt in S. apply Z.ltb_lt in W.
  pose proof (corners _ _ (strides_of t) P). pose proof (corners _ _ (strides_of t) Q).
  pose proof (nonneg _ _ G P). pose proof (nonneg _ _ G Q).
  assert (p = q) by nia. subst q. f_equal. apply IH; auto. lia.
Qed.

(* The positions of an address, as sums: divided by one distance after the other. *)
Fixpoint spos (ns : list Z) (t : tensor) (f : form) : option (list form) :=
  match t with
  | [] => if is_zero f then Some [] else None
  | (m, s) :: t' =>
      if (0 <? s) && range ns (rem s f) s && range ns (quo s f) (size m) then
        match spos ns t' (rem s f) with Some qs => Some (quo s f :: qs) | None => None end
      else None
  end.

Lemma spos_ok : forall ns c t f qs, inbox ns c -> spos ns t f = Some qs ->
  inbox (sizes_of t) (map (fun q => ev q c) qs) /\ dot (strides_of t) (map (fun q => ev q c) qs) = ev f c.
Proof.
  intros ns c t. induction t as [|[m s] t IH]; intros f qs H S; simpl in S.
  - destruct (is_zero f) eqn:E; [|discriminate]. injection S as <-. simpl. split; [exact I|].
    symmetry. apply is_zero_ok. exact E.
  - destruct ((0 <? s) && range ns (rem s f) s && range ns (quo s f) (size m)) eqn:E; [|discriminate].
    apply andb_prop in E. destruct E as [E R2]. apply andb_prop in E. destruct E as [P R1]. apply Z.ltb_lt in P.
    destruct (spos ns t (rem s f)) as [rest|] eqn:Sp; [|discriminate]. injection S as <-.
    destruct (IH _ _ H Sp) as [B D]. simpl. pose proof (range_ok _ _ _ _ H R2).
    split; [split; [assumption|exact B]|]. unfold sizes_of, strides_of in *. rewrite D.
    pose proof (quo_rem s f c P). lia.
Qed.

Fixpoint stcell (ns : list Z) (t : tensor) (qs : list form) : option (list part * guards) :=
  match t, qs with
  | [], [] => Some ([], [])
  | (m, _) :: t', q :: qs' => merged (scell ns m q) (stcell ns t' qs')
  | _, _ => None
  end.

Lemma stcell_ok : forall ns c t qs l g, inbox ns c -> stcell ns t qs = Some (l, g) ->
  tells c l g (tcell t (map (fun q => ev q c) qs)).
Proof.
  intros ns c t. induction t as [|[m s] t IH]; intros [|q qs] l g H S; simpl in S; try discriminate.
  - injection S as <- <-. simpl. split; [|intros _; constructor]. intros _. exists none. split; [reflexivity|].
    intros a. unfold none, ev. simpl. lia.
  - destruct (scell ns m q) as [[x gx]|] eqn:Sx; [|discriminate].
    destruct (stcell ns t qs) as [[y gy]|] eqn:Sy; [|discriminate]. simpl in S. injection S as <- <-. simpl.
    apply tells_merged; [apply (scell_ok ns)|apply IH]; assumption.
Qed.

(* ---------------------------------------------------------------- cuts: counters as digits *)

Fixpoint prod (fs : list Z) : Z := match fs with [] => 1 | f :: fs' => f * prod fs' end.
Fixpoint weights (w : Z) (fs : list Z) : list Z :=
  match fs with [] => [] | f :: fs' => w * prod fs' :: weights w fs' end.
Fixpoint expand (ws : list Z) (cuts : list (list Z)) : list Z :=
  match ws, cuts with w :: ws', fs :: cuts' => weights w fs ++ expand ws' cuts' | _, _ => [] end.
Definition positive (fs : list Z) : bool := forallb (fun f => 0 <? f) fs.
Fixpoint cuts_ok (ns : list Z) (cuts : list (list Z)) : bool :=
  match ns, cuts with
  | [], [] => true
  | n :: ns', fs :: cuts' => (prod fs =? n) && positive fs && cuts_ok ns' cuts'
  | _, _ => false
  end.

Lemma prod_pos : forall fs, positive fs = true -> 0 < prod fs.
Proof.
  induction fs as [|f fs IH]; simpl; intros H; [lia|]. apply andb_prop in H. destruct H as [F H].
  apply Z.ltb_lt in F. specialize (IH H). nia.
Qed.

Lemma inbox_app : forall a b x y, inbox a x -> inbox b y -> inbox (a ++ b) (x ++ y).
Proof.
  induction a as [|n a IH]; intros b [|z x] y A B; simpl in *; try contradiction; [exact B|].
  destruct A as [Z0 A]. split; auto.
Qed.

Lemma dot_app : forall a x b y, length a = length x -> dot (a ++ b) (x ++ y) = dot a x + dot b y.
Proof.
  induction a as [|k a IH]; intros [|z x] b y L; simpl in *; try discriminate; [reflexivity|].
  rewrite IH by lia. lia.
Qed.

Lemma weights_length : forall fs w, length (weights w fs) = length fs.
Proof. induction fs; intros; simpl; auto. Qed.

Lemma inbox_length : forall ns cs, inbox ns cs -> length ns = length cs.
Proof. induction ns; intros [|c cs] H; simpl in *; try contradiction; auto. destruct H. f_equal. auto. Qed.

Lemma digits : forall fs c, positive fs = true -> 0 <= c < prod fs ->
  exists ds, inbox fs ds /\ forall w, dot (weights w fs) ds = w * c.
Proof.
  induction fs as [|f fs IH]; intros c P B; simpl in *.
  - exists []. split; [exact I|]. intros w. simpl. assert (c = 0) by lia. subst. lia.
  - apply andb_prop in P. destruct P as [F P]. apply Z.ltb_lt in F. pose proof (prod_pos _ P) as Q.
    destruct (IH (c mod prod fs) P (Z.mod_pos_bound _ _ Q)) as [ds [D E]].
    exists (c / prod fs :: ds). pose proof (Z.div_mod c (prod fs) ltac:(lia)) as M. split.
    + simpl. split; [|exact D]. split; [apply Z.div_pos; lia|]. apply Z.div_lt_upper_bound; lia.
    + intros w. simpl. rewrite E. nia.
Qed.

(* T3 for loops: a cut nest walks the same addresses, whatever the strides. *)
Theorem cut_nest : forall ns cuts cs, cuts_ok ns cuts = true -> inbox ns cs ->
  exists ds, inbox (concat cuts) ds /\ forall ws, length ws = length ns -> dot (expand ws cuts) ds = dot ws cs.
Proof.
  induction ns as [|n ns IH]; intros [|fs cuts] [|c cs] K B; simpl in *; try discriminate; try contradiction.
  - exists []. split; [exact I|]. intros [|w ws] L; simpl in *; [reflexivity|discriminate].
  - apply andb_prop in K. destruct K as [K K2]. apply andb_prop in K. destruct K as [K0 K1].
    apply Z.eqb_eq in K0. destruct B as [B0 B].
    destruct (digits fs c K1 ltac:(lia)) as [d0 [D0 E0]]. destruct (IH _ _ K2 B) as [ds [D E]].
    exists (d0 ++ ds). split; [apply inbox_app; assumption|]. intros [|w ws] L; simpl in *; [discriminate|].
    rewrite dot_app by (rewrite weights_length; apply inbox_length; exact D0). rewrite E0, E by lia. reflexivity.
Qed.

(* ---------------------------------------------------------------- commands *)

(* The loops of all commands as one nest: a loop over commands that differ by their bases is a loop like any other. *)
Record command := { loops : list (Z * Z * Z); read_base : Z; write_base : Z }.
Definition counts (c : command) : list Z := map (fun l => fst (fst l)) (loops c).
Definition reads (c : command) : list Z := map (fun l => snd (fst l)) (loops c).
Definition writes (c : command) : list Z := map snd (loops c).
Definition raddr (c : command) (cs : list Z) : Z := read_base c + dot (reads c) cs.
Definition waddr (c : command) (cs : list Z) : Z := write_base c + dot (writes c) cs.

Fixpoint upto (n : nat) : list Z := match n with O => [] | S k => upto k ++ [Z.of_nat k] end.
Fixpoint box (ns : list Z) : list (list Z) :=
  match ns with [] => [[]] | n :: ns' => flat_map (fun c => map (cons c) (box ns')) (upto (Z.to_nat n)) end.

Lemma upto_ok : forall n c, In c (upto n) <-> 0 <= c < Z.of_nat n.
Proof.
  induction n as [|n IH]; intros c; simpl; [lia|]. rewrite in_app_iff, IH. simpl. lia.
Qed.

Lemma box_ok : forall ns cs, In cs (box ns) <-> inbox ns cs.
Proof.
  induction ns as [|n ns IH]; intros cs; simpl.
  - destruct cs; simpl; split; intros H; auto; destruct H as [H|[]]; discriminate.
  - rewrite in_flat_map. split.
    + intros [c [C M]]. apply in_map_iff in M. destruct M as [x [E X]]. subst. simpl.
      apply upto_ok in C. split; [lia|]. apply IH. exact X.
    + destruct cs as [|c cs]; [contradiction|]. intros [B H]. exists c. split; [apply upto_ok; lia|].
      apply in_map_iff. exists cs. split; [reflexivity|]. apply IH. exact H.
Qed.

Definition memory (V : Type) := Z -> V.

(* What the machine does: every iteration, in order, copies from the source to the destination. *)
Definition run {V} (c : command) (src dst : memory V) : memory V :=
  fold_left (fun d cs => fun a => if a =? waddr c cs then src (raddr c cs) else d a) (box (counts c)) dst.

Lemma run_ok : forall V (c : command) (src dst : memory V) a l,
  (exists cs, In cs l /\ waddr c cs = a) ->
  exists cs, In cs l /\ waddr c cs = a /\
    fold_left (fun d cs => fun a => if a =? waddr c cs then src (raddr c cs) else d a) l dst a = src (raddr c cs).
Proof.
  intros V c src dst a l. revert dst. induction l as [|x l IH] using rev_ind; intros dst [cs [I E]]; [destruct I|].
  rewrite fold_left_app. simpl. destruct (a =? waddr c x) eqn:X.
  - apply Z.eqb_eq in X. exists x. split; [apply in_or_app; right; left; reflexivity|]. auto.
  - assert (J : In cs l).
    { apply in_app_or in I. destruct I as [I|[I|[]]]; [exact I|]. subst. rewrite Z.eqb_refl in X. discriminate. }
    destruct (IH dst (ex_intro _ cs (conj J E))) as [y [Y [W R]]].
    exists y. split; [apply in_or_app; left; exact Y|]. auto.
Qed.

(* ---------------------------------------------------------------- a move and its certificate *)

Record certificate := {
  source : tensor; source_base : Z;
  dest : tensor; dest_base : Z;
  axes : list Z;                       (* the axes that the source names, and the byte *)
  what : command;
  cuts : list (list Z);                (* each loop as digits, outermost first *)
  places : list (list Z);              (* each place of the destination as digits *)
  wanted : list form                   (* for each loop, the counter that writes a place, as a sum of its digits *)
}.

Fixpoint combined (ws : list Z) (fs : list form) : form :=
  match ws, fs with w :: ws', f :: fs' => plus (scale w f) (combined ws' fs') | _, _ => (0, []) end.

Lemma combined_ok : forall ws fs c, ev (combined ws fs) c = dot ws (map (fun f => ev f c) fs).
Proof.
  induction ws as [|w ws IH]; intros [|f fs] c; simpl; try (unfold ev; simpl; lia).
  rewrite plus_ok, scale_ok, IH. reflexivity.
Qed.

Fixpoint ranges (ns ds : list Z) (fs : list form) : bool :=
  match ds, fs with [], [] => true | d :: ds', f :: fs' => range ns f d && ranges ns ds' fs' | _, _ => false end.

Lemma ranges_ok : forall ns c ds fs, inbox ns c -> ranges ns ds fs = true -> inbox ds (map (fun f => ev f c) fs).
Proof.
  intros ns c ds. induction ds as [|d ds IH]; intros [|f fs] H R; simpl in *; try discriminate; [exact I|].
  apply andb_prop in R. destruct R as [A B]. split; [eapply range_ok; eauto|auto].
Qed.

Definition located (ns : list Z) (t : tensor) (base : Z) (address : form) : option (list part * guards) :=
  match spos ns t (plus address (- base, [])) with Some qs => stcell ns t qs | None => None end.

Lemma located_ok : forall ns c t base f l g, inbox ns c -> located ns t base f = Some (l, g) ->
  exists ps, inbox (sizes_of t) ps /\ ev f c = base + dot (strides_of t) ps /\ tells c l g (tcell t ps).
Proof.
  intros ns c t base f l g H L. unfold located in L.
  destruct (spos ns t (plus f (- base, []))) as [qs|] eqn:S; [|discriminate].
  destruct (spos_ok _ _ _ _ _ H S) as [B D]. pose proof (stcell_ok _ _ _ _ _ _ H L) as C.
  exists (map (fun q => ev q c) qs). rewrite plus_ok in D. unfold ev at 3 in D. simpl in D.
  repeat split; try apply C; auto. lia.
Qed.

(* T6: every guard of the source stands among those of the destination, at least as tight. *)
Definition implied (g h : guards) : bool :=
  forallb (fun x => existsb (fun y => same (fst x) (fst y) && (snd y <=? snd x)) h) g.
Lemma implied_ok : forall g h c, implied g h = true -> met h c -> met g c.
Proof.
  intros g h c I M. unfold implied in I. rewrite forallb_forall in I. apply Forall_forall. intros x X.
  specialize (I x X). apply existsb_exists in I. destruct I as [y [Y E]]. apply andb_prop in E. destruct E as [E L].
  apply Z.leb_le in L. unfold met in M. rewrite Forall_forall in M. specialize (M y Y).
  rewrite (same_ok _ _ c E). lia.
Qed.

Definition agree (axs : list Z) (l r : list part * guards) : bool :=
  forallb (fun a => same (coordinate a (fst l)) (coordinate a (fst r))) axs && implied (snd l) (snd r).

Definition accepts (k : certificate) : bool :=
  let c := what k in
  let ns := concat (cuts k) in
  cuts_ok (counts c) (cuts k) &&
  ladder (dest k) &&
  match located ns (source k) (source_base k) (read_base c, expand (reads c) (cuts k)),
        located ns (dest k) (dest_base k) (write_base c, expand (writes c) (cuts k)) with
  | Some l, Some r => agree (axes k) l r
  | _, _ => false
  end &&
  cuts_ok (sizes_of (dest k)) (places k) &&
  ranges (concat (places k)) (counts c) (wanted k) &&
  same (plus (write_base c, []) (combined (writes c) (wanted k)))
       (dest_base k, expand (strides_of (dest k)) (places k)).

(* The source holds the tensor T: a function of the coordinates on the axes that it names. Cells beyond the size of an
   axis are padding, and hold anything. *)
Definition live (sizes : list (Z * Z)) (axs : list Z) (co : coords) : Prop :=
  forall a n, In (a, n) sizes -> In a axs -> co a < n.
Definition holds {V} (t : tensor) (base : Z) (sizes : list (Z * Z)) (axs : list Z) (T : list Z -> V) (m : memory V) :=
  forall ps co, inbox (sizes_of t) ps -> tcell t ps = Some co -> live sizes axs co ->
    m (base + dot (strides_of t) ps) = T (map co axs).

Theorem accepts_sound : forall V (k : certificate) (sizes : list (Z * Z)) (T : list Z -> V) (src dst : memory V),
  accepts k = true ->
  holds (source k) (source_base k) sizes (axes k) T src ->
  holds (dest k) (dest_base k) sizes (axes k) T (run (what k) src dst).
Proof.
  intros V k sizes T src dst A S ps co P C L. unfold accepts in A.
  repeat (apply andb_prop in A; let H := fresh "A" in destruct A as [A H]).
  rename A0 into Same. rename A1 into Ranges. rename A2 into Places. rename A3 into Located. rename A4 into Ladder.
  set (c := what k) in *.
  (* some iteration writes the byte *)
  destruct (cut_nest _ _ _ Places P) as [ds [D E]].
  assert (W : exists cs, In cs (box (counts c)) /\ waddr c cs = dest_base k + dot (strides_of (dest k)) ps).
  { exists (map (fun f => ev f ds) (wanted k)). split; [apply box_ok; eapply ranges_ok; eauto|].
    pose proof (same_ok _ _ ds Same) as Q. rewrite plus_ok, combined_ok in Q. unfold ev in Q at 1. simpl in Q.
    unfold ev in Q at 2. simpl in Q. unfold waddr.
    rewrite E in Q by (unfold strides_of, sizes_of; rewrite !map_length; reflexivity). lia. }
  (* the last one that does *)
  destruct (run_ok V c src dst _ _ W) as [cs [I [Wa R]]]. unfold run. fold c. rewrite R. apply box_ok in I.
  destruct (cut_nest _ _ _ A I) as [es [B F]].
  destruct (located _ (source k) _ _) as [[l gl]|] eqn:Ls; [|discriminate].
  destruct (located _ (dest k) _ _) as [[r gr]|] eqn:Ld; [|discriminate].
  unfold agree in Located. simpl in Located. apply andb_prop in Located. destruct Located as [Located Guards].
  destruct (located_ok _ es _ _ _ _ _ B Ls) as [qs [Q1 [Q2 [Q3 _]]]].
  destruct (located_ok _ es _ _ _ _ _ B Ld) as [ps' [P1 [P2 [P3 P5]]]].
  unfold ev in Q2, P2 at 1. simpl in Q2, P2.
  rewrite F in Q2 by (unfold reads, counts; rewrite !map_length; reflexivity).
  rewrite F in P2 by (unfold writes, counts; rewrite !map_length; reflexivity).
  assert (ps' = ps). { apply (ladder_unique (dest k)); auto. unfold waddr in Wa. lia. }
  subst ps'. pose proof (P5 (ex_intro _ co C)) as Met. destruct (P3 Met) as [cp [P6 P4]].
  rewrite C in P6. injection P6 as <-.
  destruct (Q3 (implied_ok _ _ _ Guards Met)) as [cq [Q5 Q4]].
  assert (X : forall a, In a (axes k) -> cq a = co a).
  { intros a Ia. rewrite forallb_forall in Located. specialize (Located a Ia).
    rewrite Q4, P4. apply same_ok. exact Located. }
  unfold raddr. rewrite Q2. rewrite (S qs cq Q1 Q5).
  - f_equal. apply map_ext_in. exact X.
  - intros a n Ian Ia. rewrite (X a Ia). exact (L a n Ian Ia).
Qed.

(* T2: on strides in order, the longest first, different counters write different addresses. *)
Theorem once_sound : forall t ps qs, ladder t = true -> inbox (sizes_of t) ps -> inbox (sizes_of t) qs -> ps <> qs ->
  dot (strides_of t) ps <> dot (strides_of t) qs.
Proof. intros t ps qs L P Q N E. apply N. eapply ladder_unique; eauto. Qed.

(* T8: alignment is divisibility of the base and of every stride. *)
Theorem aligned : forall u base ks cs, (u | base) -> Forall (fun k => (u | k)) ks -> (u | base + dot ks cs).
Proof.
  intros u base ks cs B F. apply Z.divide_add_r; [exact B|]. revert cs.
  induction F as [|k ks K F IH]; intros [|c cs]; simpl; try apply Z.divide_0_r.
  apply Z.divide_add_r; [apply Z.divide_mul_l; exact K|apply IH].
Qed.
