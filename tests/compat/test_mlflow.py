"""MLflow keeps a learner as its safe file, and serves it."""

import pytest

from thalweg import SEA, AdaptiveRandomForest, HoeffdingTree, compat

pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'thalweg[mlflow]'")
pytest.importorskip("pandas", reason="pandas is not installed")

import mlflow
import numpy as np
import pandas as pd

CHUNK = SEA(seed=1).read(2_000)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("frozen", [False, True])
def test_what_is_saved_answers_the_same_and_is_no_pickle(tmp_path, frozen):
    learner = AdaptiveRandomForest(size=3).partial_fit(CHUNK.X, CHUNK.y)
    model = learner.compile() if frozen else learner
    compat.mlflow.save_model(model, tmp_path / "model")
    files = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert ".safetensors" in files
    assert not files & {".pkl", ".pickle", ".joblib"}
    frame = pd.DataFrame(CHUNK.X[:50], columns=list(learner.schema.names))
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert np.array_equal(served.predict(frame), learner.predict(frame))
    back = compat.mlflow.load_model(tmp_path / "model")
    assert np.array_equal(back.predict_proba(frame), learner.predict_proba(frame))
    proba = compat.mlflow.Served(back).predict(frame, {"proba": True})
    assert np.array_equal(proba.to_numpy(), learner.predict_proba(frame))


@pytest.mark.filterwarnings("ignore")
def test_logged_to_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    tree = HoeffdingTree().partial_fit(CHUNK.X, CHUNK.y)
    with mlflow.start_run():
        logged = compat.mlflow.log_model(tree, "tree")
    again = compat.mlflow.load_model(logged.model_uri)
    assert np.array_equal(again.predict_proba(CHUNK.X), tree.predict_proba(CHUNK.X))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="uri must be an MLflow model that thalweg saved"):
        compat.mlflow.load_model(tmp_path / "empty")
